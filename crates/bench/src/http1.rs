//! As much of HTTP/1.1 as a load generator and an origin need: heads are kept, bodies are counted.

/// A message whose framing cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// Which side sent it: an answer without a length ends with its connection, a request has no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sent by a client.
    Request,
    /// Sent by a server.
    Response,
}

/// A head longer than this is nobody's here.
const HEAD_MAX: usize = 16 * 1024;

/// One message after the other from a stream of bytes.
#[derive(Debug)]
pub struct Reader {
    kind: Kind,
    head: Vec<u8>,
    body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// The head is not whole yet.
    Unknown,
    Exact(u64),
    /// Bytes of the size line seen so far are in the number.
    ChunkSize(u64),
    ChunkData(u64),
    /// Lines after the last chunk; how many bytes the current one has.
    Trailer(usize),
    UntilClose,
    Whole,
}

impl Reader {
    /// Expects the first message.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            head: Vec::with_capacity(512),
            body: Body::Unknown,
        }
    }

    /// Takes what belongs to the current message and says how much that was. After a whole message
    /// nothing more is taken until [`Reader::next`].
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let mut taken = 0;
        while taken < bytes.len() && self.body != Body::Whole {
            taken += match self.body {
                Body::Unknown => self.take_head(&bytes[taken..])?,
                _ => self.take_body(&bytes[taken..])?,
            };
        }
        Ok(taken)
    }

    /// Whether all of the message is there.
    pub fn is_whole(&self) -> bool {
        self.body == Body::Whole
    }

    /// Whether the end of the connection is the end of the message.
    pub fn ends_with_connection(&self) -> bool {
        self.body == Body::UntilClose
    }

    /// Whether nothing of the message has come.
    pub fn is_untouched(&self) -> bool {
        self.body == Body::Unknown && self.head.is_empty()
    }

    /// The head, as far as it has come.
    pub fn head(&self) -> Head<'_> {
        Head(&self.head)
    }

    /// Expects the next message.
    pub fn next(&mut self) {
        self.head.clear();
        self.body = Body::Unknown;
    }

    fn take_head(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        // The end may lie across two pieces: look three bytes back.
        let from = self.head.len().saturating_sub(3);
        let before = self.head.len();
        self.head.extend_from_slice(bytes);
        let Some(end) = find(&self.head[from..], b"\r\n\r\n") else {
            return if self.head.len() > HEAD_MAX {
                Err(Broken)
            } else {
                Ok(bytes.len())
            };
        };
        let length = from + end + 4;
        self.head.truncate(length);
        self.body = framing(self.kind, Head(&self.head))?;
        if self.kind == Kind::Response && Head(&self.head).status() == Some(100) {
            self.next();
        }
        Ok(length - before)
    }

    fn take_body(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        match self.body {
            Body::Exact(left) => {
                let taken = left.min(bytes.len() as u64);
                self.body = match left - taken {
                    0 => Body::Whole,
                    left => Body::Exact(left),
                };
                Ok(taken as usize)
            }
            Body::ChunkData(left) => {
                let taken = left.min(bytes.len() as u64);
                self.body = match left - taken {
                    0 => Body::ChunkSize(0),
                    left => Body::ChunkData(left),
                };
                Ok(taken as usize)
            }
            Body::ChunkSize(size) => {
                self.body = chunk_size(size, bytes[0])?;
                Ok(1)
            }
            Body::Trailer(length) => {
                self.body = match (bytes[0], length) {
                    (b'\r', length) => Body::Trailer(length),
                    (b'\n', 0) => Body::Whole,
                    (b'\n', _) => Body::Trailer(0),
                    (_, length) => Body::Trailer(length + 1),
                };
                Ok(1)
            }
            Body::UntilClose | Body::Unknown | Body::Whole => Ok(bytes.len()),
        }
    }
}

/// Extensions of chunks are not expected here.
fn chunk_size(size: u64, byte: u8) -> Result<Body, Broken> {
    match byte {
        b'\r' => Ok(Body::ChunkSize(size)),
        b'\n' if size == 0 => Ok(Body::Trailer(0)),
        // The line break behind the data counts as data.
        b'\n' => Ok(Body::ChunkData(size + 2)),
        _ => {
            let digit = char::from(byte).to_digit(16).ok_or(Broken)?;
            let size = size.checked_mul(16).ok_or(Broken)?;
            Ok(Body::ChunkSize(size + u64::from(digit)))
        }
    }
}

fn framing(kind: Kind, head: Head<'_>) -> Result<Body, Broken> {
    let bodiless = matches!(head.status(), Some(100..=199 | 204 | 304));
    if kind == Kind::Response && bodiless {
        return Ok(Body::Whole);
    }
    if head.header("transfer-encoding").is_some() {
        return Ok(Body::ChunkSize(0));
    }
    match head.header("content-length") {
        Some("0") => Ok(Body::Whole),
        Some(length) => length.parse().map(Body::Exact).map_err(|_| Broken),
        None if kind == Kind::Request => Ok(Body::Whole),
        None => Ok(Body::UntilClose),
    }
}

/// The lines before the body.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a>(&'a [u8]);

impl<'a> Head<'a> {
    /// Of a response.
    pub fn status(self) -> Option<u16> {
        let digits = self.0.strip_prefix(b"HTTP/1.")?.get(2..5)?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// Of a request: path and query as sent.
    pub fn target(self) -> Option<&'a str> {
        let line = self.0.split(|byte| *byte == b'\r').next()?;
        std::str::from_utf8(line.split(|byte| *byte == b' ').nth(1)?).ok()
    }

    /// The trimmed value of the first header of this name.
    pub fn header(self, name: &str) -> Option<&'a str> {
        let lines = self.0.split(|byte| *byte == b'\n').skip(1);
        for line in lines {
            let Some((start, value)) = line.split_at_checked(name.len()) else {
                continue;
            };
            if value.first() == Some(&b':') && start.eq_ignore_ascii_case(name.as_bytes()) {
                return std::str::from_utf8(&value[1..]).ok().map(str::trim);
            }
        }
        None
    }

    /// Whether the sender closes the connection after this message.
    pub fn closes(self) -> bool {
        let line = self.0.split(|byte| *byte == b'\r').next().unwrap_or(self.0);
        let old = line.starts_with(b"HTTP/1.0") || line.ends_with(b"HTTP/1.0");
        match self.header("connection") {
            Some(word) => word.eq_ignore_ascii_case("close"),
            None => old,
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8; 4]) -> Option<usize> {
    bytes.windows(4).position(|window| window == wanted)
}

#[cfg(test)]
mod tests;
