//! The directives of `Cache-Control`, of requests and responses alike (RFC 9111 5.2), read without trust.

use crate::text::{is_token, unquoted_split};
use http::header::{HeaderMap, HeaderName};

/// More seconds than this are this many (RFC 9111 1.2.2).
pub(super) const SECONDS_MAX: u64 = 2_147_483_648;

/// To which fields a directive applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fields {
    /// It is absent.
    #[default]
    None,
    /// To these only.
    Named(Vec<HeaderName>),
    /// To the whole message.
    All,
}

impl Fields {
    /// The whole message is meant.
    pub fn is_all(&self) -> bool {
        *self == Fields::All
    }

    /// The fields that are meant where not all are.
    pub fn names(&self) -> &[HeaderName] {
        match self {
            Fields::Named(names) => names,
            Fields::None | Fields::All => &[],
        }
    }

    /// Said twice, it means both; a list that names no field means the whole, as it would if it were not understood.
    fn add(&mut self, value: Option<&[u8]>) {
        let named: Option<Vec<HeaderName>> = value.and_then(|list| {
            let parts = list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            let parts = parts.filter(|part| !part.is_empty());
            parts
                .map(|part| HeaderName::from_bytes(part).ok())
                .collect()
        });
        match (std::mem::take(self), named) {
            (Fields::None, Some(names)) if !names.is_empty() => *self = Fields::Named(names),
            (Fields::Named(mut known), Some(names)) if !names.is_empty() => {
                known.extend(names);
                *self = Fields::Named(known);
            }
            _ => *self = Fields::All,
        }
    }
}

/// What a message says. A number that cannot be read, or is given twice and differs, is zero: no freshness is better
/// than one that was not meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// `max-age`.
    pub max_age: Option<u64>,
    /// `s-maxage`.
    pub s_maxage: Option<u64>,
    /// `stale-while-revalidate`.
    pub stale_while_revalidate: Option<u64>,
    /// `stale-if-error`.
    pub stale_if_error: Option<u64>,
    /// `min-fresh`.
    pub min_fresh: Option<u64>,
    /// `max-stale`; the most there is where it says no number.
    pub max_stale: Option<u64>,
    /// `no-cache`.
    pub no_cache: Fields,
    /// `private`.
    pub private: Fields,
    /// `no-store`.
    pub no_store: bool,
    /// `public`.
    pub public: bool,
    /// `must-revalidate`.
    pub must_revalidate: bool,
    /// `proxy-revalidate`.
    pub proxy_revalidate: bool,
    /// `must-understand`.
    pub must_understand: bool,
    /// `only-if-cached`.
    pub only_if_cached: bool,
}

impl Control {
    /// All lines of a header, `Cache-Control` or one that is written like it.
    pub fn of(headers: &HeaderMap, name: &HeaderName) -> Control {
        let mut control = Control::default();
        for line in headers.get_all(name) {
            for part in directives(line.as_bytes()) {
                control.take(part);
            }
        }
        control
    }

    fn take(&mut self, part: &[u8]) {
        let (name, value) = match part.iter().position(|byte| *byte == b'=') {
            Some(at) => (&part[..at], Some(&part[at + 1..])),
            None => (part, None),
        };
        // A blank beside the sign is no syntax there is. It makes a number void, but forbids what it would forbid.
        let spaced =
            name.trim_ascii() != name || value.is_some_and(|value| value.trim_ascii() != value);
        let value = value.map(unquoted);
        let value = value.as_deref();
        let seconds = || if spaced { 0 } else { seconds(value) };
        match name.trim_ascii().to_ascii_lowercase().as_slice() {
            b"max-age" => number(&mut self.max_age, seconds()),
            b"s-maxage" => number(&mut self.s_maxage, seconds()),
            b"stale-while-revalidate" => number(&mut self.stale_while_revalidate, seconds()),
            b"stale-if-error" => number(&mut self.stale_if_error, seconds()),
            b"min-fresh" => number(&mut self.min_fresh, seconds()),
            b"max-stale" if value.is_none() => number(&mut self.max_stale, SECONDS_MAX),
            b"max-stale" => number(&mut self.max_stale, seconds()),
            b"no-cache" => self.no_cache.add(value),
            b"private" => self.private.add(value),
            b"no-store" => self.no_store = true,
            b"public" => self.public = true,
            b"must-revalidate" => self.must_revalidate = true,
            b"proxy-revalidate" => self.proxy_revalidate = true,
            b"must-understand" => self.must_understand = true,
            b"only-if-cached" => self.only_if_cached = true,
            _ => (),
        }
    }
}

/// A quote that is left open takes the rest of its line with it, except for the directives that stood before.
fn directives(line: &[u8]) -> Vec<&[u8]> {
    unquoted_split(line, b',').unwrap_or_else(|| {
        let open = line
            .iter()
            .position(|byte| *byte == b'"')
            .unwrap_or(line.len());
        line[..open]
            .split(|byte| *byte == b',')
            .map(<[u8]>::trim_ascii)
            .collect()
    })
}

fn number(known: &mut Option<u64>, said: u64) {
    *known = match *known {
        Some(before) if before != said => Some(0),
        _ => Some(said),
    };
}

fn seconds(value: Option<&[u8]>) -> u64 {
    value.and_then(delta).unwrap_or(0)
}

/// Digits only; more than fits is the most there is.
pub(super) fn delta(digits: &[u8]) -> Option<u64> {
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| {
        digits.iter().fold(0, |number: u64, digit| {
            (number * 10 + u64::from(digit - b'0')).min(SECONDS_MAX)
        })
    })
}

/// What a token or a quoted string says; anything else says what no directive accepts.
fn unquoted(value: &[u8]) -> Vec<u8> {
    let value = value.trim_ascii();
    let inner = value
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    match inner {
        None if is_token(value) => value.to_vec(),
        None => b"?".to_vec(),
        Some(inner) => {
            let mut escaped = false;
            let kept = inner.iter().filter(|byte| {
                escaped = **byte == b'\\' && !escaped;
                !escaped
            });
            kept.copied().collect()
        }
    }
}
