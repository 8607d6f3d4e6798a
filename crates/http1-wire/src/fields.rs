//! Field lines: names, values, and those among them that say how long the message is.

use http::header::{
    self, CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};

use crate::FIELDS_MAX;
use crate::fault::Fault;
use crate::scan::Scan;

/// Room left for what whoever passes a message on has to add.
const ROOM: usize = 6;

/// Names that are no standard's, and said to gateways often enough not to be taken apart and copied each time.
const TENANT: HeaderName = HeaderName::from_static("x-tenant");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What the fields of an answer say about framing and the connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said {
    pub(crate) length: Option<u64>,
    pub(crate) chunked: bool,
    pub(crate) close: bool,
    pub(crate) keep_alive: bool,
}

/// Reads the fields of a block that `scan` has found the end of, from its line `first` on, which begins at `at`. `hear`
/// is shown each of them, and says whether it stays.
///
/// Values are copied: most are short, and what is shared would have to be counted by every value, in steps that other
/// processors see, which costs more. And what was read is free for what comes next, however long a value lasts.
pub(crate) fn read(
    block: &[u8],
    scan: &Scan,
    (first, mut at): (usize, usize),
    fields: &mut HeaderMap,
    mut hear: impl FnMut(&HeaderName, &HeaderValue) -> Result<bool, Fault>,
) -> Result<(), Fault> {
    let lines = scan.lines.saturating_sub(first);
    if lines > FIELDS_MAX {
        return Err(Fault::Oversized("too many fields"));
    }
    if fields.capacity() < lines + ROOM {
        *fields = HeaderMap::with_capacity(lines + ROOM);
    }
    for number in first..scan.lines {
        let end = scan.end(number, block, at);
        // Every line ends in CRLF, and only the last of a block is empty.
        let line = &block[at..end - 1];
        let colon = line.iter().position(|byte| *byte == b':');
        let colon = colon.ok_or(Fault::Garbage("a line without a colon"))?;
        let name = name(&line[..colon])?;
        let (first, last) = trimmed(line, colon + 1);
        let value = HeaderValue::from_bytes(&line[first..last]);
        let value = value.map_err(|_| Fault::Garbage("a field value"))?;
        if hear(&name, &value)? {
            fields.append(name, value);
        }
        at = end + 1;
    }
    Ok(())
}

/// A name. Most messages have the same few, written in one of two ways: those need not be taken apart.
fn name(text: &[u8]) -> Result<HeaderName, Fault> {
    Ok(match text {
        b"host" | b"Host" => header::HOST,
        b"accept" | b"Accept" => header::ACCEPT,
        b"user-agent" | b"User-Agent" => header::USER_AGENT,
        b"accept-encoding" | b"Accept-Encoding" => header::ACCEPT_ENCODING,
        b"content-length" | b"Content-Length" => header::CONTENT_LENGTH,
        b"content-type" | b"Content-Type" => header::CONTENT_TYPE,
        b"date" | b"Date" => header::DATE,
        b"server" | b"Server" => header::SERVER,
        b"connection" | b"Connection" => header::CONNECTION,
        b"transfer-encoding" | b"Transfer-Encoding" => header::TRANSFER_ENCODING,
        b"cache-control" | b"Cache-Control" => header::CACHE_CONTROL,
        b"etag" | b"ETag" => header::ETAG,
        b"vary" | b"Vary" => header::VARY,
        b"last-modified" | b"Last-Modified" => header::LAST_MODIFIED,
        b"content-encoding" | b"Content-Encoding" => header::CONTENT_ENCODING,
        b"x-tenant" | b"X-Tenant" => TENANT,
        b"x-request-id" | b"X-Request-Id" => REQUEST_ID,
        b"x-forwarded-for" | b"X-Forwarded-For" => FORWARDED_FOR,
        b"traceparent" => TRACEPARENT,
        // No space before the colon, no empty name and no folded line is a name.
        _ => HeaderName::from_bytes(text).map_err(|_| Fault::Garbage("a field name"))?,
    })
}

/// The bounds of a value without the blanks around it.
fn trimmed(line: &[u8], mut first: usize) -> (usize, usize) {
    let blank = |byte: u8| byte == b' ' || byte == b'\t';
    let mut last = line.len();
    while first < last && blank(line[first]) {
        first += 1;
    }
    while first < last && blank(line[last - 1]) {
        last -= 1;
    }
    (first, last)
}

impl Said {
    pub(crate) fn hear(&mut self, name: &HeaderName, value: &HeaderValue) -> Result<(), Fault> {
        if *name == CONTENT_LENGTH {
            if self.length.is_some() {
                return Err(Fault::Garbage("more than one content-length"));
            }
            let length = length(value.as_bytes()).ok_or(Fault::Garbage("a content-length"))?;
            self.length = Some(length);
        } else if *name == TRANSFER_ENCODING {
            // Nobody was asked for another coding, and two of them are one too many.
            if self.chunked || !value.as_bytes().eq_ignore_ascii_case(b"chunked") {
                return Err(Fault::Garbage("a transfer-encoding"));
            }
            self.chunked = true;
        } else if *name == CONNECTION {
            self.close |= lists(value, b"close");
            self.keep_alive |= lists(value, b"keep-alive");
        }
        Ok(())
    }
}

/// Digits and nothing else.
pub(crate) fn length(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let digit = |length: u64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        length.checked_mul(10)?.checked_add(digit)
    };
    text.iter().try_fold(0, digit)
}

/// Whether one of the words between commas is this one.
pub(crate) fn lists(value: &HeaderValue, word: &[u8]) -> bool {
    let mut words = value.as_bytes().split(|byte| *byte == b',');
    words.any(|one| one.trim_ascii().eq_ignore_ascii_case(word))
}
