//! What each request made with a passport must keep to: cheap to check, nothing allocated.

use thiserror::Error;

/// Which of its limits a request passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Beyond {
    /// Outside of the paths allowed.
    #[error("the passport does not allow this path")]
    Path,
    /// A method that is not allowed.
    #[error("the passport does not allow this method")]
    Method,
    /// More bytes than allowed.
    #[error("the passport does not allow a body of this size")]
    Body,
}

impl Beyond {
    /// A stable code, for metrics, logs and clients.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Path => "passport-path",
            Self::Method => "passport-method",
            Self::Body => "passport-body",
        }
    }
}

/// What was left of the right to ask after every caveat about requests; the default limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    paths: Vec<Box<str>>,
    methods: Option<Methods>,
    body_bytes_max: Option<u64>,
}

impl Limits {
    /// Whether any request passes.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// Checks one request. `path` is the raw path, without the query; `body_bytes` is what is known of the length.
    ///
    /// A body of unknown length is to be cut off at [`Self::body_bytes_max`].
    pub fn admit(&self, method: &str, path: &str, body_bytes: Option<u64>) -> Result<(), Beyond> {
        if self.methods.is_some_and(|allowed| !allowed.has(method)) {
            return Err(Beyond::Method);
        }
        if !self.paths.is_empty() && !self.holds(path) {
            return Err(Beyond::Path);
        }
        match (self.body_bytes_max, body_bytes) {
            (Some(max), Some(bytes)) if bytes > max => Err(Beyond::Body),
            _ => Ok(()),
        }
    }

    /// Most bytes a body may have.
    pub fn body_bytes_max(&self) -> Option<u64> {
        self.body_bytes_max
    }

    /// Prefixes that a path must all begin with.
    pub fn paths(&self) -> &[Box<str>] {
        &self.paths
    }

    pub(crate) fn within_path(&mut self, prefix: &str) {
        self.paths.push(prefix.into());
    }

    pub(crate) fn within_methods(&mut self, methods: Methods) {
        self.methods = Some(self.methods.map_or(methods, |before| before.and(methods)));
    }

    pub(crate) fn within_body(&mut self, bytes: u64) {
        self.body_bytes_max = Some(
            self.body_bytes_max
                .map_or(bytes, |before| before.min(bytes)),
        );
    }

    fn holds(&self, path: &str) -> bool {
        self.paths.iter().all(|prefix| begins(path, prefix)) && !climbs(path)
    }
}

/// By whole segments: `/a` holds `/a` and `/a/b`, not `/ab`; `/a/` holds only what is below.
fn begins(path: &str, prefix: &str) -> bool {
    let mut rest = meant(path);
    let held = meant(prefix).all(|wanted| rest.next() == Some(wanted));
    held && (prefix.ends_with('/') || rest.next().is_none_or(|next| next == (b'/', false)))
}

/// What a path says, however it is spelled: its bytes, and whether they were escaped, where that makes a difference.
fn meant(path: &str) -> impl Iterator<Item = (u8, bool)> {
    let mut rest = path.as_bytes();
    std::iter::from_fn(move || {
        let (byte, behind) = rest.split_first()?;
        let escaped = (*byte == b'%').then(|| digits(behind)).flatten();
        let (byte, behind) = escaped.unwrap_or((*byte, behind));
        rest = behind;
        let says_more = b"!$&'()*+,;=:@/%?#".contains(&byte);
        Some((byte, escaped.is_some() && says_more))
    })
}

/// The byte that two hexadecimal digits stand for, and what comes behind them.
fn digits(text: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, behind) = text.split_first_chunk::<2>()?;
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    let byte = u8::try_from(high? << 4 | low?).ok()?;
    Some((byte, behind))
}

/// Whether a server behind could read the path as leaving the prefix: dot segments and other slashes, in any encoding.
fn climbs(path: &str) -> bool {
    let bytes = path.as_bytes();
    let coded = |at: usize, what: &[u8]| {
        let code = bytes.get(at + 1..at + 3);
        code.is_some_and(|code| code.eq_ignore_ascii_case(what))
    };
    let mut after_slash = false;
    for (at, byte) in bytes.iter().enumerate() {
        let dot = *byte == b'.' || (*byte == b'%' && coded(at, b"2e"));
        let slash = *byte == b'\\' || (*byte == b'%' && (coded(at, b"2f") || coded(at, b"5c")));
        if slash || (dot && after_slash && dot_segment(&path[at..])) {
            return true;
        }
        after_slash = *byte == b'/';
    }
    false
}

/// Whether the segment that `rest` begins with is `.` or `..`, plain or escaped, maybe with parameters behind it.
fn dot_segment(rest: &str) -> bool {
    let segment = rest.split(['/', ';']).next().unwrap_or_default();
    let dots = |part: &str| part == "." || part.eq_ignore_ascii_case("%2e");
    let (one, two) = match segment.strip_prefix('.') {
        Some(two) => (".", two),
        None => segment.split_at_checked(3).unwrap_or((segment, "")),
    };
    dots(one) && (two.is_empty() || dots(two))
}

const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY",
];

/// A set of methods; one outside of the eight known here is in no set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Methods(u8);

impl Methods {
    /// From names such as `GET`; `None` when one is not known here, or none is given.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut set = 0;
        for name in names {
            set |= 1 << METHODS.iter().position(|known| *known == name)?;
        }
        (set != 0).then_some(Self(set))
    }

    /// Whether `method` is one of them.
    pub fn has(self, method: &str) -> bool {
        let at = METHODS.iter().position(|known| *known == method);
        at.is_some_and(|at| self.0 & (1 << at) != 0)
    }

    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        METHODS.into_iter().filter(move |name| self.has(name))
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

#[cfg(test)]
mod tests;
