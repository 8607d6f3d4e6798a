//! The head of a request: what is asked, how its body is framed, and what its answer has to keep to.

use bytes::{Buf, BytesMut};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Uri, Version};

use crate::ask::Sending;
use crate::fault::Fault;
use crate::fields;
use crate::scan::Scan;

/// The longest target.
const TARGET_BYTES: usize = u16::MAX as usize - 1;
/// A body whose length is longer than this is none anybody could send.
const LENGTH_MAX: u64 = u64::MAX - 2;

const LINE: Unreadable = Unreadable::Malformed("a request line");

/// The head of a request.
#[derive(Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The target.
    pub uri: Uri,
    /// The version, 1.0 or 1.1.
    pub version: Version,
    /// The fields. The same length said twice is said once here, and none is where chunks say it.
    pub headers: HeaderMap,
    /// How the body is delimited.
    pub body: Sending,
    /// Whether the peer waits to be told that its body is wanted.
    pub expects: bool,
    /// Whether the peer would go on in another protocol.
    pub upgrades: bool,
    /// What the answer has to keep to.
    pub terms: Terms,
}

/// What decides, beside the answer itself, how an answer is framed and what becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The peer speaks HTTP/1.0.
    pub old: bool,
    /// It wants the head only.
    pub head: bool,
    /// It wants a tunnel.
    pub connect: bool,
    /// It takes fields behind a body.
    pub trailers: bool,
    /// It may ask again on the same connection.
    pub keeps: bool,
}

/// Why bytes are no request; what comes after them cannot be read either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not HTTP, or can be read in two ways.
    #[error("not an HTTP request: {0}")]
    Malformed(&'static str),
    /// There is more of it than a head may have.
    #[error("too large a head: {0}")]
    HeadTooLarge(&'static str),
    /// What is asked for has no end.
    #[error("too long a target")]
    TargetTooLong,
}

impl From<Fault> for Unreadable {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Garbage(what) => Self::Malformed(what),
            Fault::Oversized(what) => Self::HeadTooLarge(what),
            Fault::Short => Self::Malformed("it ends early"),
        }
    }
}

/// Reads one head as it comes.
#[derive(Debug)]
pub struct RequestReader {
    scan: Scan,
    /// Bytes there may still be before the head is complete.
    left: usize,
    begun: bool,
}

impl RequestReader {
    /// For a head of no more than `most` bytes.
    pub fn new(most: usize) -> Self {
        Self {
            scan: Scan::default(),
            left: most,
            begun: false,
        }
    }

    /// Whether anything of a head has come.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Takes the head out of what has come, once all of it has. `spare` is a map nobody needs any more; its memory is
    /// used for the fields.
    pub fn read(
        &mut self,
        inbox: &mut BytesMut,
        spare: &mut HeaderMap,
    ) -> Result<Option<Request>, Unreadable> {
        self.begun |= !inbox.is_empty();
        if !self.skip_empty_lines(inbox) {
            return Ok(None);
        }
        let found = self.scan.find(inbox, self.left);
        let Ok(Some(length)) = found else {
            self.look_ahead(inbox, found.is_err())?;
            return Ok(found.map(|_| None)?);
        };
        let request = request(&inbox[..length], &self.scan, std::mem::take(spare))?;
        inbox.advance(length);
        Ok(Some(request))
    }

    /// Some send an empty line behind a body. `false` where there is nothing else yet.
    fn skip_empty_lines(&mut self, inbox: &mut BytesMut) -> bool {
        while self.left > 2 && inbox.starts_with(b"\r\n") {
            let _line = inbox.split_to(2);
            self.left -= 2;
        }
        !inbox.is_empty() && inbox[..] != b"\r"[..]
    }

    /// What is no request from its first line on need not be waited for; and a line without end is a target without.
    fn look_ahead(&self, inbox: &[u8], failed: bool) -> Result<(), Unreadable> {
        let seen = &inbox[..inbox.len().min(self.left)];
        let end = memchr::memchr(b'\n', seen);
        let line = &seen[..end.unwrap_or(seen.len())];
        let method = line.split(|byte| *byte == b' ').next().unwrap_or(line);
        if method.is_empty() || !method.iter().all(is_token) {
            return Err(LINE);
        }
        match end {
            Some(_) => request_line(line.strip_suffix(b"\r").ok_or(LINE)?).map(|_| ()),
            None if failed => Err(Unreadable::TargetTooLong),
            None => Ok(()),
        }
    }
}

fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

fn request(head: &[u8], scan: &Scan, mut headers: HeaderMap) -> Result<Request, Unreadable> {
    headers.clear();
    let first = scan.end(0, head, 0);
    let line = request_line(&head[..first.saturating_sub(1)])?;
    let method = Method::from_bytes(&head[..line.method]).map_err(|_| LINE)?;
    let target = &head[line.method + 1..line.target];
    let mut uri = Uri::try_from(target).map_err(|_| LINE)?;
    if method == Method::OPTIONS {
        uri = about_all(uri, target.len());
    }
    let mut said = Said::new(line.version);
    fields::read(head, scan, (1, first + 1), &mut headers, |name, value| {
        said.hear(name, value)
    })?;
    let body = match (said.chunked, said.length) {
        (Some(false), _) => return Err(Unreadable::Malformed("a transfer-encoding")),
        (Some(true), length) => {
            if length.is_some() {
                headers.remove(header::CONTENT_LENGTH);
            }
            Sending::Chunked
        }
        (None, length) => Sending::Length(length.map_or(0, |(length, _)| length)),
    };
    Ok(Request {
        body,
        expects: said.expects,
        upgrades: method == Method::CONNECT || said.upgrades && !said.old,
        terms: Terms {
            old: said.old,
            head: method == Method::HEAD,
            connect: method == Method::CONNECT,
            trailers: said.trailers,
            keeps: said.keeps(),
        },
        method,
        uri,
        version: line.version,
        headers,
    })
}

/// `OPTIONS http://a` asks the whole of `a` as `OPTIONS *` does (RFC 9112 3.2.4), and `OPTIONS http://a/` one path of
/// it: parsed, the two are the same.
fn about_all(uri: Uri, length: usize) -> Uri {
    let mut parts = uri.clone().into_parts();
    let (Some(scheme), Some(authority)) = (&parts.scheme, &parts.authority) else {
        return uri;
    };
    if length != scheme.as_str().len() + "://".len() + authority.as_str().len() {
        return uri;
    }
    parts.path_and_query = Some(PathAndQuery::from_static("*"));
    Uri::from_parts(parts).unwrap_or(uri)
}

/// Where the words of a request line end.
struct Line {
    method: usize,
    target: usize,
    version: Version,
}

/// Three words with one blank between them.
fn request_line(line: &[u8]) -> Result<Line, Unreadable> {
    let method = line.iter().position(|byte| *byte == b' ').ok_or(LINE)?;
    let length = memchr::memchr(b' ', &line[method + 1..]).ok_or(LINE)?;
    let target = method + 1 + length;
    // A fragment is its client's own (RFC 9112 3.2): cut off, it would leave a path that others read differently.
    if memchr::memchr(b'#', &line[method + 1..target]).is_some() {
        return Err(Unreadable::Malformed("a fragment in the target"));
    }
    let version = match &line[target + 1..] {
        b"HTTP/1.1" => Version::HTTP_11,
        b"HTTP/1.0" => Version::HTTP_10,
        _ => return Err(LINE),
    };
    match length {
        0 => Err(LINE),
        _ if method == 0 => Err(LINE),
        1..=TARGET_BYTES => Ok(Line {
            method,
            target,
            version,
        }),
        _ => Err(Unreadable::TargetTooLong),
    }
}

/// What the fields of a request say about framing and the connection.
#[derive(Default)]
struct Said {
    old: bool,
    /// The number, and how many digits it was written with.
    length: Option<(u64, usize)>,
    /// Whether the last coding is the one that delimits; nothing where there is none.
    chunked: Option<bool>,
    close: bool,
    keep_alive: bool,
    expects: bool,
    upgrades: bool,
    trailers: bool,
}

impl Said {
    fn new(version: Version) -> Self {
        Self {
            old: version == Version::HTTP_10,
            ..Self::default()
        }
    }

    /// Whether the field stays.
    fn hear(&mut self, name: &HeaderName, value: &HeaderValue) -> Result<bool, Fault> {
        match *name {
            header::CONTENT_LENGTH => return self.length(value),
            header::TRANSFER_ENCODING if self.old => {
                return Err(Fault::Garbage("a transfer-encoding in HTTP/1.0"));
            }
            header::TRANSFER_ENCODING => {
                let last = value.as_bytes().rsplit(|byte| *byte == b',').next();
                let last = last.map(<[u8]>::trim_ascii);
                self.chunked = last.map(|last| last.eq_ignore_ascii_case(b"chunked"));
            }
            header::CONNECTION => {
                self.close |= fields::lists(value, b"close");
                self.keep_alive |= fields::lists(value, b"keep-alive");
            }
            header::EXPECT => {
                self.expects = value.as_bytes().eq_ignore_ascii_case(b"100-continue");
            }
            header::UPGRADE => self.upgrades = true,
            header::TE => self.trailers |= fields::lists(value, b"trailers"),
            _ => {}
        }
        Ok(true)
    }

    fn length(&mut self, value: &HeaderValue) -> Result<bool, Fault> {
        let length = fields::length(value.as_bytes()).ok_or(Fault::Garbage("a content-length"))?;
        if length > LENGTH_MAX {
            return Err(Fault::Oversized("a content-length"));
        }
        let digits = value.len();
        match self.length.replace((length, digits)) {
            None => Ok(true),
            // Zeros before a number change how some read it, so which of two is sent on must not matter.
            Some(before) if before == (length, digits) => Ok(false),
            Some(_) => Err(Fault::Garbage("more than one content-length")),
        }
    }

    /// Who frames a body in two ways has made a mistake, or wants somebody else to make one.
    fn keeps(&self) -> bool {
        let framed_twice = self.chunked.is_some() && self.length.is_some();
        (!self.old || self.keep_alive) && !self.close && !framed_twice
    }
}

#[cfg(test)]
mod tests;
