//! The head of an answer as it is written: its status, its fields, how its body is framed, and what becomes of the
//! connection.

use http::StatusCode;
use http::header::{
    CONNECTION, CONTENT_LENGTH, DATE, HeaderMap, HeaderValue, TRAILER, TRANSFER_ENCODING,
};

use crate::answer::Framing;
use crate::ask::{Payload, write_decimal, write_field};
use crate::fields::{self, lists};
use crate::request::Terms;

/// What is answered, lent for as long as it takes to say it.
#[derive(Clone, Copy, Debug)]
pub struct Tell<'a> {
    /// The status; of those before the final one only `101` can be told.
    pub status: StatusCode,
    /// The fields. How the body is framed is not theirs to say.
    pub headers: &'a HeaderMap,
    /// The date, where the fields do not have one.
    pub date: &'a [u8],
}

/// How an answer goes on behind its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// How its body is delimited.
    pub framing: Framing,
    /// Whether another request may follow.
    pub keeps: bool,
}

impl Terms {
    /// For whoever asked what could not be read.
    pub const UNREADABLE: Self = Self {
        old: false,
        head: false,
        connect: false,
        trailers: false,
        keeps: false,
    };

    /// Whether the connection is another protocol's after this answer.
    pub fn switches(&self, status: StatusCode) -> bool {
        status == StatusCode::SWITCHING_PROTOCOLS || self.connect && status.is_success()
    }

    /// Whether an answer of this status has a body at all.
    fn has_body(&self, status: StatusCode) -> bool {
        !self.head && !is_bodiless(status)
    }
}

/// Whether an answer of this status has no body, whatever its fields say.
pub(crate) fn is_bodiless(status: StatusCode) -> bool {
    status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
}

/// Writes the head of an answer.
pub fn write_answer(out: &mut Vec<u8>, tell: &Tell<'_>, terms: &Terms, payload: Payload) -> Told {
    write_status(out, tell.status, terms.old);
    let chunkable = !terms.old && terms.has_body(tell.status);
    let (mut declared, mut dated) = (None, false);
    let (mut close, mut keep_alive) = (false, false);
    for (name, value) in tell.headers {
        match *name {
            CONTENT_LENGTH => {
                declared = declared.or(Some(value));
                continue;
            }
            TRANSFER_ENCODING => continue,
            TRAILER if !chunkable => continue,
            DATE => dated = true,
            CONNECTION => {
                close |= lists(value, b"close");
                keep_alive |= lists(value, b"keep-alive");
            }
            _ => {}
        }
        write_field(out, name, value.as_bytes());
    }
    let framing = frame(out, tell.status, terms, payload, declared);
    let keeps =
        terms.keeps && !close && !matches!(framing, Framing::UntilClose | Framing::Switched);
    if framing != Framing::Switched {
        if !keeps && !close {
            out.extend_from_slice(b"connection: close\r\n");
        } else if keeps && terms.old && !keep_alive {
            out.extend_from_slice(b"connection: keep-alive\r\n");
        }
    }
    if !dated {
        write_field(out, &DATE, tell.date);
    }
    out.extend_from_slice(b"\r\n");
    Told { framing, keeps }
}

fn write_status(out: &mut Vec<u8>, status: StatusCode, old: bool) {
    if status == StatusCode::OK && !old {
        return out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    }
    out.extend_from_slice(if old { b"HTTP/1.0 " } else { b"HTTP/1.1 " });
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or("Other").as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Says how the body is framed. What the body itself says of its length comes before what was declared.
fn frame(
    out: &mut Vec<u8>,
    status: StatusCode,
    terms: &Terms,
    payload: Payload,
    declared: Option<&HeaderValue>,
) -> Framing {
    if terms.switches(status) {
        return Framing::Switched;
    }
    if is_bodiless(status) {
        return Framing::Length(0);
    }
    let declared = declared.and_then(|value| fields::length(value.as_bytes()));
    let known = match payload {
        // Of what a head alone stands for, only who made it knows the length.
        Payload::Nothing if terms.head => declared,
        Payload::Nothing => Some(0),
        Payload::Some(known) if terms.head => declared.or(known),
        Payload::Some(known) => known.or(declared),
    };
    match known {
        Some(length) => {
            out.extend_from_slice(b"content-length: ");
            write_decimal(out, length);
            out.extend_from_slice(b"\r\n");
            Framing::Length(if terms.head { 0 } else { length })
        }
        None if terms.head => Framing::Length(0),
        None if terms.old => Framing::UntilClose,
        None => {
            out.extend_from_slice(b"transfer-encoding: chunked\r\n");
            Framing::Chunked
        }
    }
}

/// Those of an answer's trailers that its head has listed; others are dropped.
pub fn listed_trailers(trailers: &HeaderMap, listed: &[HeaderValue]) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for (name, value) in trailers {
        let name_bytes = name.as_str().as_bytes();
        if listed.iter().any(|list| lists(list, name_bytes)) {
            kept.append(name, value.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests;
