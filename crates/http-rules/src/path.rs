//! Which paths may be routed: those that every server behind reads the same way.
//!
//! A path is judged decoded once, and has one canonical form ([`canonical`]), in which it is compared and sent on:
//! `/%61dmin` is `/admin` to every server behind, and `/caf%c3%a9` is `/caf%C3%A9`, so they are so to whoever decides
//! by them. `%2f` is data (some services keep whole names in one segment) except that it ends a segment when dot
//! segments are looked for: `/a%2f..%2fb` is refused, `/projects/a%2fb` is not. Empty segments are let through; they
//! match no route that does not ask for them.

use std::borrow::Cow;
use std::fmt;

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BadPath {
    /// It does not begin with `/`.
    Start,
    /// A `.` or `..` segment, in any spelling.
    DotSegment,
    /// A backslash, which some take for `/`.
    Backslash,
    /// A control character, NUL among them, or a blank.
    Control,
    /// A `%` that is not followed by two hexadecimal digits.
    Escape,
    /// Bytes that are not UTF-8, overlong forms among them.
    Utf8,
    /// `#` or `?`: no part of a path.
    Delimiter,
}

impl BadPath {
    /// One of each.
    pub const ALL: &'static [BadPath] = &[
        BadPath::Start,
        BadPath::DotSegment,
        BadPath::Backslash,
        BadPath::Control,
        BadPath::Escape,
        BadPath::Utf8,
        BadPath::Delimiter,
    ];

    /// HTTP status of the refusal.
    pub fn status(self) -> u16 {
        400
    }

    /// Stable code for the body, the log and the metric.
    pub fn reason(self) -> &'static str {
        match self {
            BadPath::Start => "path-start",
            BadPath::DotSegment => "path-dot-segment",
            BadPath::Backslash => "path-backslash",
            BadPath::Control => "path-control",
            BadPath::Escape => "path-escape",
            BadPath::Utf8 => "path-utf8",
            BadPath::Delimiter => "path-delimiter",
        }
    }

    /// One sentence for people.
    pub fn detail(self) -> &'static str {
        match self {
            BadPath::Start => "The path must begin with `/`.",
            BadPath::DotSegment => "The path must not contain `.` or `..` segments.",
            BadPath::Backslash => "The path must not contain a backslash.",
            BadPath::Control => "The path must not contain control characters or blanks.",
            BadPath::Escape => "A `%` in the path must be followed by two hexadecimal digits.",
            BadPath::Utf8 => "The path must be UTF-8 when decoded.",
            BadPath::Delimiter => "The path must not contain `#` or `?`.",
        }
    }
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.detail())
    }
}

impl std::error::Error for BadPath {}

/// Checks a path as it came, without its query. `*` of OPTIONS is not a path; ask `framing` about it.
pub fn check(raw_path: &[u8]) -> Result<(), BadPath> {
    scan(raw_path).map(|_canonical| ())
}

/// The one spelling of all that mean the same (RFC 3986, 6.2.2): no escapes of letters, digits and `-._~`, all others
/// in capitals, and escaped what may not stand in a path. Borrowed from a path that is spelled so already.
pub fn canonical(raw_path: &str) -> Result<Cow<'_, str>, BadPath> {
    Ok(match scan(raw_path.as_bytes())? {
        true => Cow::Borrowed(raw_path),
        false => Cow::Owned(spelled(raw_path.as_bytes())?),
    })
}

/// A query with an escape for each byte that is no ASCII: none may stand in a target (RFC 3986, 3.4), and servers read
/// such as they like. All else stays as it came; what it means is its reader's business. Borrowed from one of ASCII.
pub fn ascii_query(raw_query: &str) -> Cow<'_, str> {
    if raw_query.is_ascii() {
        return Cow::Borrowed(raw_query);
    }
    let mut query = String::with_capacity(raw_query.len() + 32);
    for byte in raw_query.bytes() {
        match byte.is_ascii() {
            true => query.push(char::from(byte)),
            false => escape(&mut query, byte),
        }
    }
    Cow::Owned(query)
}

/// Checks it, and says whether it is spelled canonically.
fn scan(raw_path: &[u8]) -> Result<bool, BadPath> {
    if raw_path.first() != Some(&b'/') {
        return Err(BadPath::Start);
    }
    let mut segment = Segment::Empty;
    let mut canonical = true;
    let mut at = 0;
    while let Some(byte) = raw_path.get(at).copied() {
        if PLAIN[usize::from(byte)] {
            segment = Segment::Other;
            at += 1;
            continue;
        }
        let (byte, next) = decoded(raw_path, at)?;
        let next = match byte {
            0x80.. => sequence(raw_path, byte, next)?,
            _ => next,
        };
        canonical = canonical && is_canonical(&raw_path[at..next]);
        at = next;
        segment = segment.then(byte)?;
    }
    segment.end()?;
    Ok(canonical)
}

/// Whether one character that does not mean only itself stands there as it should.
fn is_canonical(character: &[u8]) -> bool {
    match character {
        [b'/' | b'.' | b';'] => true,
        [b'%', ..] => character.chunks(3).all(|escape| {
            let capital = !escape.iter().any(u8::is_ascii_lowercase);
            capital && matches!(decoded(escape, 0), Ok((byte, 3)) if !is_unreserved(byte))
        }),
        _ => false,
    }
}

fn spelled(raw_path: &[u8]) -> Result<String, BadPath> {
    let mut path = String::with_capacity(raw_path.len() + 32);
    let mut at = 0;
    while let Some(raw) = raw_path.get(at).copied() {
        let (byte, next) = escaped(raw_path, at)?;
        let stands = match raw {
            b'%' => is_unreserved(byte),
            _ => PLAIN[usize::from(byte)] || matches!(byte, b'/' | b'.' | b';'),
        };
        if stands {
            path.push(char::from(byte));
        } else {
            escape(&mut path, byte);
        }
        at = next;
    }
    Ok(path)
}

fn escape(text: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digits = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
    text.extend(['%', char::from(digits[0]), char::from(digits[1])]);
}

/// Means the same with an escape and without (RFC 3986, 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Bytes that mean only themselves and may stand in a path: the scan passes over them.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x21;
    while byte < 0x7f {
        plain[byte] = !matches!(
            byte as u8,
            b'/' | b'.' | b'%' | b'\\' | b'#' | b'?' | b';' // those that mean more
                | b'"' | b'<' | b'>' | b'[' | b']' | b'^' | b'`' | b'{' | b'|' | b'}'
        );
        byte += 1;
    }
    plain
};

/// What the current segment is so far.
#[derive(Clone, Copy)]
enum Segment {
    Empty,
    Dot,
    DotDot,
    Other,
}

impl Segment {
    fn then(self, byte: u8) -> Result<Segment, BadPath> {
        match (byte, self) {
            (b'/', _) => self.end().map(|()| Segment::Empty),
            (b'.', Segment::Empty) => Ok(Segment::Dot),
            (b'.', Segment::Dot) => Ok(Segment::DotDot),
            // Servers that know path parameters read `..;x` as `..`.
            (b';', _) => self.end().map(|()| Segment::Other),
            (b'\\', _) => Err(BadPath::Backslash),
            (0..=0x20 | 0x7f, _) => Err(BadPath::Control),
            _ => Ok(Segment::Other),
        }
    }

    fn end(self) -> Result<(), BadPath> {
        match self {
            Segment::Dot | Segment::DotDot => Err(BadPath::DotSegment),
            Segment::Empty | Segment::Other => Ok(()),
        }
    }
}

/// The byte meant at `at`, and where the next one begins. `%20` is a blank one may ask for, a raw one is not.
fn decoded(path: &[u8], at: usize) -> Result<(u8, usize), BadPath> {
    match path[at] {
        b'%' => {
            let (byte, next) = escaped(path, at)?;
            Ok((if byte == b' ' { b'+' } else { byte }, next))
        }
        b'#' | b'?' => Err(BadPath::Delimiter),
        byte => Ok((byte, at + 1)),
    }
}

/// The byte that stands at `at`, escaped or not, and where the next one begins.
fn escaped(path: &[u8], at: usize) -> Result<(u8, usize), BadPath> {
    if path[at] != b'%' {
        return Ok((path[at], at + 1));
    }
    let digits = path.get(at + 1..at + 3).ok_or(BadPath::Escape)?;
    Ok((hex(digits[0])? << 4 | hex(digits[1])?, at + 3))
}

fn hex(digit: u8) -> Result<u8, BadPath> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(BadPath::Escape),
    }
}

/// Reads the rest of a UTF-8 sequence that began with `lead`, escaped or raw, and says where it ends.
fn sequence(path: &[u8], lead: u8, mut at: usize) -> Result<usize, BadPath> {
    let length = match lead {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Err(BadPath::Utf8),
    };
    let mut bytes = [lead, 0, 0, 0];
    for byte in &mut bytes[1..length] {
        if at >= path.len() {
            return Err(BadPath::Utf8);
        }
        (*byte, at) = decoded(path, at)?;
    }
    match std::str::from_utf8(&bytes[..length]) {
        Ok(_) => Ok(at),
        Err(_) => Err(BadPath::Utf8),
    }
}

#[cfg(test)]
mod tests;
