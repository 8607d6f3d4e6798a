//! The head of a request, and how its body is framed.

use std::borrow::Cow;

use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, MAX_FORWARDS, SET_COOKIE, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, Uri};

use crate::answer::Asked;
use crate::fields::{self, lists};

/// A name and its value, lent where it outlives what is asked.
pub type Field<'a> = (HeaderName, Cow<'a, HeaderValue>);

/// What is asked for, lent for as long as it takes to say it: the same can be asked again.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target; of an absolute one the authority is what `Host` says, unless the fields say that already.
    pub uri: &'a Uri,
    /// The fields. How the body is framed is not theirs to say.
    pub headers: &'a HeaderMap,
    /// Said besides, by who passes a request on: a list costs a fraction of what a map does. None of them is named like
    /// one of the fields, is about the connection or the length of the body, or is `Host`.
    pub more: &'a [Field<'a>],
}

impl<'a> Ask<'a> {
    /// What this head asks for.
    pub fn of(parts: &'a http::request::Parts) -> Self {
        Self {
            method: &parts.method,
            uri: &parts.uri,
            headers: &parts.headers,
            more: &[],
        }
    }

    /// All fields in one map.
    pub fn fields(&self) -> HeaderMap {
        let mut fields = self.headers.clone();
        let more = self.more.iter().cloned();
        fields.extend(more.map(|(name, value)| (name, value.into_owned())));
        fields
    }
}

/// What is known of a body before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// There is none.
    Nothing,
    /// There is one, of this length if that is known.
    Some(Option<u64>),
}

/// How a request's body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// As it is, this many bytes.
    Length(u64),
    /// In chunks.
    Chunked,
}

/// What has been asked for, as far as the rest of the exchange depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// How the body is to be sent.
    pub sending: Sending,
    /// What the answer is read by.
    pub asked: Asked,
    /// Whether another request may follow.
    pub keeps: bool,
}

/// Writes a request's head; `host` is who it is for where the request does not say.
pub fn write_head(
    out: &mut Vec<u8>,
    ask: &Ask<'_>,
    host: impl FnOnce() -> String,
    payload: Payload,
) -> Written {
    write_first_line(out, ask);
    let (mut named, mut upgrade, mut close) = (false, false, false);
    let mut declared = None;
    for (name, value) in ask.headers {
        match *name {
            CONTENT_LENGTH => {
                declared = Some(value);
                continue;
            }
            TRANSFER_ENCODING => continue,
            HOST => named = true,
            UPGRADE => upgrade = true,
            CONNECTION => close |= lists(value, b"close"),
            // It holds for this connection, and has to say so (RFC 9110 10.1.4).
            TE => out.extend_from_slice(b"connection: te\r\n"),
            _ => {}
        }
        write_field(out, name, value.as_bytes());
    }
    for (name, value) in ask.more {
        write_field(out, name, value.as_bytes());
    }
    if !named {
        let said = ask.uri.authority().map(|said| said.as_str().to_owned());
        write_field(out, &HOST, said.unwrap_or_else(host).as_bytes());
    }
    let declared = declared.map(|value| fields::length(value.as_bytes()));
    let sending = sending(payload, declared.flatten());
    match sending {
        // A body that is not there needs no length, unless one is expected or somebody took the care to say so.
        Sending::Length(0)
            if payload == Payload::Nothing && declared.is_none() && !expects_body(ask.method) => {}
        Sending::Length(length) => {
            out.extend_from_slice(b"content-length: ");
            write_decimal(out, length);
            out.extend_from_slice(b"\r\n");
        }
        Sending::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
    }
    out.extend_from_slice(b"\r\n");
    Written {
        sending,
        asked: Asked::new(ask.method, upgrade),
        keeps: !close,
    }
}

/// Methods whose requests are refused by some servers if they say nothing of a body. Over HTTP/2 clients need not.
fn expects_body(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

/// What the body itself says of its length comes before what was declared.
fn sending(payload: Payload, declared: Option<u64>) -> Sending {
    match payload {
        Payload::Nothing => Sending::Length(0),
        Payload::Some(known) => known.or(declared).map_or(Sending::Chunked, Sending::Length),
    }
}

fn write_first_line(out: &mut Vec<u8>, ask: &Ask<'_>) {
    out.extend_from_slice(ask.method.as_str().as_bytes());
    out.push(b' ');
    let target = ask.uri.path_and_query().map_or("/", |path| path.as_str());
    if !target.starts_with(['/', '*']) {
        out.push(b'/');
    }
    out.extend_from_slice(target.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
}

pub(crate) fn write_field(out: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    let name = name.as_str().as_bytes();
    out.reserve(name.len() + value.len() + 4);
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

pub(crate) fn write_decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes what comes before the bytes of a chunk; CRLF comes after them.
pub fn chunk_head(out: &mut Vec<u8>, length: usize) {
    let nibbles = (usize::BITS - length.leading_zeros()).div_ceil(4).max(1);
    for nibble in (0..nibbles).rev() {
        let digit = (length >> (nibble * 4)) as u32 & 0xf;
        out.extend(char::from_digit(digit, 16).map(|digit| digit as u8));
    }
    out.extend_from_slice(b"\r\n");
}

/// Writes the last chunk and what follows it; fields that would change how the message is read stay behind.
pub fn write_trailers(out: &mut Vec<u8>, trailers: &HeaderMap) {
    const LEADING: [HeaderName; 12] = [
        AUTHORIZATION,
        CACHE_CONTROL,
        CONTENT_ENCODING,
        CONTENT_LENGTH,
        CONTENT_RANGE,
        CONTENT_TYPE,
        HOST,
        MAX_FORWARDS,
        SET_COOKIE,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
    ];
    out.extend_from_slice(b"0\r\n");
    for (name, value) in trailers {
        if !LEADING.contains(name) {
            write_field(out, name, value.as_bytes());
        }
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
