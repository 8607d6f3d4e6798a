//! Which coding a body has, as its headers say.

use super::BadBody;
use crate::text::list;
use http::header::{self, HeaderMap};

/// A content coding that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// `gzip` or `x-gzip`.
    Gzip,
    /// `br`.
    Brotli,
    /// `zstd`.
    Zstd,
}

impl Coding {
    /// The coding of a message; none when it has no `Content-Encoding` or only `identity`.
    pub fn of(headers: &HeaderMap) -> Result<Option<Coding>, BadBody> {
        let mut found = None;
        let lines = headers.get_all(header::CONTENT_ENCODING).iter();
        for name in lines.flat_map(list) {
            if name.eq_ignore_ascii_case(b"identity") {
                continue;
            }
            let coding = Coding::named(name).ok_or(BadBody::Unknown)?;
            if found.replace(coding).is_some() {
                return Err(BadBody::Several);
            }
        }
        Ok(found)
    }

    /// By its name in a header.
    pub fn named(name: &[u8]) -> Option<Coding> {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        match () {
            () if is("gzip") || is("x-gzip") => Some(Coding::Gzip),
            () if is("br") => Some(Coding::Brotli),
            () if is("zstd") => Some(Coding::Zstd),
            () => None,
        }
    }

    /// The name for a header.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }
}

#[cfg(test)]
mod tests;
