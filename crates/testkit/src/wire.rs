//! HTTP/1 heads and body framing, as much as a test tool needs.

use std::fmt;

pub(crate) mod inbox;
#[cfg(test)]
mod tests;

/// What a head said that no HTTP/1 head may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed HTTP: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// Header lines in the order they came; names keep their case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The first value of a name, compared without case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a name, compared without case.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let same = move |(n, _): &&(String, String)| n.eq_ignore_ascii_case(name);
        self.0.iter().filter(same).map(|(_, value)| value.as_str())
    }

    /// All lines.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }

    /// Whether the comma-separated list under `name` holds `token`.
    #[must_use]
    pub fn lists(&self, name: &str, token: &str) -> bool {
        self.all(name)
            .flat_map(|value| value.split(','))
            .any(|item| item.trim().eq_ignore_ascii_case(token))
    }

    fn parse<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<Self, Malformed> {
        lines.map(header_line).collect::<Result<_, _>>().map(Self)
    }
}

/// A parsed request head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The method as sent.
    pub method: String,
    /// The request target as sent.
    pub target: String,
    /// `HTTP/1.0` or `HTTP/1.1`.
    pub version: String,
    /// The header lines.
    pub headers: Headers,
}

impl RequestHead {
    /// Parses a whole head, its empty line included.
    pub fn parse(head: &[u8]) -> Result<Self, Malformed> {
        let (first, headers) = lines(head)?;
        let words: Vec<String> = first.split(|b| *b == b' ').map(text).collect();
        let [method, target, version] =
            <[String; 3]>::try_from(words).map_err(|_| Malformed("request line"))?;
        if method.is_empty() || target.is_empty() || !version.starts_with("HTTP/1.") {
            return Err(Malformed("request line"));
        }
        Ok(Self {
            method,
            target,
            version,
            headers,
        })
    }

    /// The target without its query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The first value of a query key, undecoded.
    #[must_use]
    pub fn query(&self, key: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(k, _)| *k == key)
            .map(|(_, v)| v)
    }

    /// How the body is delimited.
    pub fn framing(&self) -> Result<Framing, Malformed> {
        Ok(announced(&self.headers)?.unwrap_or(Framing::Empty))
    }
}

/// A parsed response head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// `HTTP/1.0` or `HTTP/1.1`.
    pub version: String,
    /// The header lines.
    pub headers: Headers,
}

impl ResponseHead {
    /// Parses a whole head, its empty line included.
    pub fn parse(head: &[u8]) -> Result<Self, Malformed> {
        let (first, headers) = lines(head)?;
        let line = text(first);
        let mut words = line.splitn(3, ' ');
        let version = words
            .next()
            .filter(|v| v.starts_with("HTTP/1."))
            .ok_or(Malformed("status line"))?;
        let status = words
            .next()
            .filter(|s| s.len() == 3)
            .and_then(|s| s.parse().ok());
        let status = status.ok_or(Malformed("status line"))?;
        Ok(Self {
            status,
            version: version.to_owned(),
            headers,
        })
    }

    /// How the body is delimited; `to_head` when the request was a HEAD.
    pub fn framing(&self, to_head: bool) -> Result<Framing, Malformed> {
        if to_head || matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Framing::Empty);
        }
        Ok(announced(&self.headers)?.unwrap_or(Framing::UntilClose))
    }
}

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// No body.
    Empty,
    /// After so many bytes.
    Length(u64),
    /// At the last chunk.
    Chunked,
    /// When the peer closes.
    UntilClose,
}

fn announced(headers: &Headers) -> Result<Option<Framing>, Malformed> {
    if headers.lists("transfer-encoding", "chunked") {
        return Ok(Some(Framing::Chunked));
    }
    let length = headers
        .get("content-length")
        .map(str::parse::<u64>)
        .transpose();
    Ok(length
        .map_err(|_| Malformed("content-length"))?
        .map(Framing::Length))
}

fn lines(head: &[u8]) -> Result<(&[u8], Headers), Malformed> {
    let head = head
        .strip_suffix(b"\r\n\r\n")
        .ok_or(Malformed("head without end"))?;
    let mut lines = split_crlf(head);
    let first = lines.next().unwrap_or_default();
    Ok((first, Headers::parse(lines)?))
}

fn split_crlf(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut done = false;
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        let end = rest.windows(2).position(|pair| pair == b"\r\n");
        let line = &rest[..end.unwrap_or(rest.len())];
        done = end.is_none();
        rest = end.map_or(&[], |at| &rest[at + 2..]);
        Some(line)
    })
}

fn header_line(line: &[u8]) -> Result<(String, String), Malformed> {
    let colon = line
        .iter()
        .position(|b| *b == b':')
        .ok_or(Malformed("header without colon"))?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    if name.is_empty()
        || name
            .iter()
            .any(|b| b.is_ascii_whitespace() || b.is_ascii_control())
    {
        return Err(Malformed("header name"));
    }
    Ok((text(name), text(value.trim_ascii())))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
