//! The head of an answer: its status, its fields, how its body is framed, and whether its connection may go on.

use bytes::{Buf, BytesMut};
use http::{HeaderMap, Method, StatusCode, Version, header};

use crate::fault::Fault;
use crate::fields::{self, Said};
use crate::reply::is_bodiless;
use crate::scan::Scan;
use crate::spare;

/// What decides, beside the answer itself, how its body is framed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    head: bool,
    connect: bool,
    upgrade: bool,
}

impl Asked {
    /// By this request.
    pub fn by(method: &Method, headers: &HeaderMap) -> Self {
        Self::new(method, headers.contains_key(header::UPGRADE))
    }

    pub(crate) fn new(method: &Method, upgrade: bool) -> Self {
        Self {
            head: *method == Method::HEAD,
            connect: *method == Method::CONNECT,
            upgrade,
        }
    }
}

/// How the body of an answer is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By its length; zero where there is none.
    Length(u64),
    /// By chunks.
    Chunked,
    /// By the end of the connection.
    UntilClose,
    /// What follows is no HTTP: the connection is somebody else's.
    Switched,
}

/// The head of an answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its version, 1.0 or 1.1.
    pub version: Version,
    /// Its fields.
    pub headers: HeaderMap,
    /// How its body is delimited.
    pub framing: Framing,
    /// It ends with its head, whatever its fields say, as the request or the status has it.
    pub bodiless: bool,
    /// Whether the peer would take another request after it.
    pub keeps: bool,
}

/// Reads a head as it comes; interim ones are skipped.
#[derive(Debug)]
pub struct HeadReader {
    scan: Scan,
    /// Bytes there may still be before the final head is complete.
    left: usize,
}

impl HeadReader {
    /// For one answer whose head, with all interim ones before it, has no more than `most` bytes.
    pub fn new(most: usize) -> Self {
        Self {
            scan: Scan::default(),
            left: most,
        }
    }

    /// Takes the final head out of what has come, once all of it has.
    pub fn read(&mut self, inbox: &mut BytesMut, asked: Asked) -> Result<Option<Answer>, Fault> {
        loop {
            begins_well(inbox)?;
            let Some(length) = self.scan.find(inbox, self.left)? else {
                return Ok(None);
            };
            self.left -= length;
            let scan = std::mem::take(&mut self.scan);
            let answer = answer(&inbox[..length], &scan, asked)?;
            inbox.advance(length);
            if !answer.status.is_informational() || answer.framing == Framing::Switched {
                return Ok(Some(answer));
            }
        }
    }
}

/// What is no answer from its first bytes on need not be waited for.
fn begins_well(inbox: &[u8]) -> Result<(), Fault> {
    const OPENING: &[u8] = b"HTTP/1.";
    let length = inbox.len().min(OPENING.len());
    if inbox[..length] != OPENING[..length] {
        return Err(Fault::Garbage("it does not begin as one"));
    }
    Ok(())
}

fn answer(head: &[u8], scan: &Scan, asked: Asked) -> Result<Answer, Fault> {
    let first = scan.end(0, head, 0);
    let (version, status) = status_line(&head[..first.saturating_sub(1)])?;
    let (mut headers, mut said) = (spare::take_fields(), Said::default());
    fields::read(head, scan, (1, first + 1), &mut headers, |name, value| {
        said.hear(name, value).map(|()| true)
    })?;
    let bodiless = asked.head || is_bodiless(status);
    let framing = framing((status, bodiless), version, said, asked)?;
    let persistent = match version {
        Version::HTTP_11 => !said.close,
        _ => said.keep_alive && !said.close,
    };
    Ok(Answer {
        status,
        version,
        headers,
        framing,
        bodiless,
        keeps: persistent && !matches!(framing, Framing::UntilClose | Framing::Switched),
    })
}

/// `HTTP/1.1 200 OK`; the words may be missing, and the blank before them.
fn status_line(line: &[u8]) -> Result<(Version, StatusCode), Fault> {
    let bad = Fault::Garbage("a status line");
    let version = match line.get(..9) {
        Some(b"HTTP/1.1 ") => Version::HTTP_11,
        Some(b"HTTP/1.0 ") => Version::HTTP_10,
        _ => return Err(bad),
    };
    let code = line.get(9..12).ok_or(bad)?;
    let status = StatusCode::from_bytes(code).map_err(|_| bad)?;
    match &line[12..] {
        [] => Ok((version, status)),
        [b' ', words @ ..] if words.iter().all(is_text) => Ok((version, status)),
        _ => Err(bad),
    }
}

fn is_text(byte: &u8) -> bool {
    *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f)
}

/// RFC 9112 §6.3, for answers.
fn framing(
    (status, bodiless): (StatusCode, bool),
    version: Version,
    said: Said,
    asked: Asked,
) -> Result<Framing, Fault> {
    if said.chunked && said.length.is_some() {
        return Err(Fault::Garbage("both content-length and transfer-encoding"));
    }
    if said.chunked && version == Version::HTTP_10 {
        return Err(Fault::Garbage("a transfer-encoding in HTTP/1.0"));
    }
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return match asked.upgrade {
            true => Ok(Framing::Switched),
            false => Err(Fault::Garbage("another protocol that nobody asked for")),
        };
    }
    if asked.connect && status.is_success() {
        return Ok(Framing::Switched);
    }
    Ok(match said.length {
        _ if bodiless => Framing::Length(0),
        Some(length) => Framing::Length(length),
        None if said.chunked => Framing::Chunked,
        None => Framing::UntilClose,
    })
}

#[cfg(test)]
mod tests;
