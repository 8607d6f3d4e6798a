//! A second opinion on what went over a wire: HTTP/1.1 requests read by the letter, where any doubt is an error.
//!
//! It shares no code with the lenient reader of [`wire`](crate::wire), nor with anything under test: two readers that
//! agree on the same bytes are what a desync would have to get past.

use std::fmt;

#[cfg(test)]
mod tests;

/// A request as it can only be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The target, in origin-form or `*`.
    pub target: String,
    /// The fields, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The body, without its chunks.
    pub body: Vec<u8>,
    /// The fields after a chunked body, names in lower case.
    pub trailers: Vec<(String, String)>,
}

impl Request {
    /// The values of a field.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let same = move |(n, _): &&(String, String)| n == name;
        self.fields.iter().filter(same).map(|(_, v)| v.as_str())
    }

    /// The value of a field that is there once at most.
    #[must_use]
    pub fn one(&self, name: &str) -> Option<&str> {
        let mut all = self.all(name);
        let first = all.next();
        first.filter(|_| all.next().is_none())
    }
}

/// Why bytes are not requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// More has to come.
    Unfinished,
    /// This cannot be read, or in more than one way.
    Ambiguous(String),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Unfinished => f.write_str("ended inside a request"),
            Doubt::Ambiguous(why) => write!(f, "ambiguous: {why}"),
        }
    }
}

impl std::error::Error for Doubt {}

fn ambiguous<T>(why: impl fmt::Display) -> Result<T, Doubt> {
    Err(Doubt::Ambiguous(why.to_string()))
}

/// All requests of a connection; every byte belongs to one.
pub fn requests(bytes: &[u8]) -> Result<Vec<Request>, Doubt> {
    let (mut rest, mut all) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (request, length) = request(rest)?;
        all.push(request);
        rest = &rest[length..];
    }
    Ok(all)
}

/// The first request, and how many bytes it has.
pub fn request(bytes: &[u8]) -> Result<(Request, usize), Doubt> {
    let mut reader = Reader { bytes, at: 0 };
    let (method, target) = request_line(reader.line()?)?;
    let fields = reader.fields()?;
    let mut request = Request {
        method,
        target,
        fields,
        body: Vec::new(),
        trailers: Vec::new(),
    };
    match body(&request)? {
        Body::Length(length) => request.body = reader.exactly(length)?.to_vec(),
        Body::Chunks => {
            request.body = reader.chunks()?;
            request.trailers = reader.fields()?;
        }
    }
    if let Some((name, _)) = request.trailers.iter().find(|(name, _)| frames(name)) {
        return ambiguous(format!("the trailer {name}"));
    }
    Ok((request, reader.at))
}

enum Body {
    Length(usize),
    Chunks,
}

/// Whether a field says where a message ends or whom it is for.
fn frames(name: &str) -> bool {
    matches!(
        name,
        "content-length" | "transfer-encoding" | "host" | "connection" | "trailer"
    )
}

fn body(request: &Request) -> Result<Body, Doubt> {
    let count = |name: &str| request.all(name).count();
    if count("host") != 1 {
        return ambiguous(format!("{} hosts", count("host")));
    }
    match (request.one("content-length"), count("content-length")) {
        (None, 0) => {}
        (Some(_), _) if count("transfer-encoding") > 0 => return ambiguous("two ends of a body"),
        (Some(digits), _) => return length(digits).map(Body::Length),
        (None, several) => return ambiguous(format!("{several} lengths")),
    }
    match (request.one("transfer-encoding"), count("transfer-encoding")) {
        (None, 0) => Ok(Body::Length(0)),
        (Some("chunked"), _) => Ok(Body::Chunks),
        (coding, count) => ambiguous(format!("{count} transfer encodings: {coding:?}")),
    }
}

/// The shortest form of a decimal number only: others have been read as octal, or as a list.
fn length(digits: &str) -> Result<usize, Doubt> {
    let number = digits.parse::<usize>().ok();
    let shortest = number.filter(|number| number.to_string() == digits);
    shortest.map_or_else(|| ambiguous(format!("the length {digits:?}")), Ok)
}

fn request_line(line: &[u8]) -> Result<(String, String), Doubt> {
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some(b"HTTP/1.1"), None) =
        (method, target, version, words.next())
    else {
        return ambiguous(format!("the request line {:?}", text(line)));
    };
    let plain = target.starts_with(b"/") || (target == b"*" && method == b"OPTIONS");
    // Bytes beyond ASCII are no URI, yet mean themselves to everyone who takes them.
    let visible = |byte: &u8| byte.is_ascii_graphic() || !byte.is_ascii();
    if !is_token(method) || !plain || !target.iter().all(visible) {
        return ambiguous(format!("the request line {:?}", text(line)));
    }
    if target.contains(&b'#') {
        return ambiguous(format!("the target {:?}", text(target)));
    }
    Ok((text(method), text(target)))
}

fn is_token(word: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !word.is_empty() && word.iter().all(plain)
}

fn field(line: &[u8]) -> Result<(String, String), Doubt> {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return ambiguous(format!("the line {:?}", text(line)));
    };
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    // A name with `_` is another one to whoever reads it as `-`.
    if !is_token(name) || name.contains(&b'_') {
        return ambiguous(format!("the name {:?}", text(name)));
    }
    let control = |byte: &u8| (*byte < 0x20 && *byte != b'\t') || *byte == 0x7f;
    if value.iter().any(control) {
        return ambiguous(format!("the value {:?}", text(value)));
    }
    Ok((text(name).to_ascii_lowercase(), text(value)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Up to the next CRLF, in which neither CR nor LF may stand alone.
    fn line(&mut self) -> Result<&'a [u8], Doubt> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
            return Err(Doubt::Unfinished);
        };
        match (rest[end], rest.get(end + 1)) {
            (b'\r', Some(b'\n')) => {
                self.at += end + 2;
                Ok(&rest[..end])
            }
            (b'\r', None) => Err(Doubt::Unfinished),
            _ => ambiguous(format!("half a line end behind {:?}", text(&rest[..end]))),
        }
    }

    fn fields(&mut self) -> Result<Vec<(String, String)>, Doubt> {
        let mut fields = Vec::new();
        loop {
            match self.line()? {
                [] => return Ok(fields),
                [b' ' | b'\t', ..] => return ambiguous("a folded line"),
                line => fields.push(field(line)?),
            }
        }
    }

    fn exactly(&mut self, length: usize) -> Result<&'a [u8], Doubt> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..length).ok_or(Doubt::Unfinished)?;
        self.at += length;
        Ok(taken)
    }

    /// Chunks up to the last one; extensions are nobody's business behind a gateway.
    fn chunks(&mut self) -> Result<Vec<u8>, Doubt> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let hex =
                !line.is_empty() && line.len() <= 15 && line.iter().all(u8::is_ascii_hexdigit);
            let size = usize::from_str_radix(&text(line), 16).ok();
            match size.filter(|_| hex) {
                None => return ambiguous(format!("the chunk size {:?}", text(line))),
                Some(0) => return Ok(body),
                Some(size) => body.extend_from_slice(self.exactly(size)?),
            }
            if !self.line()?.is_empty() {
                return ambiguous("a chunk longer than its size");
            }
        }
    }
}
