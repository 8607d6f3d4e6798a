//! `Repr-Digest` (RFC 9530): what a representation hashes to, told and read. The hash itself is the caller's.

use crate::text::unquoted_split;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

/// The header of the digest of a whole representation, in its coding, whatever part is sent.
pub const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");
/// The header that asks for one.
pub const WANT_REPR_DIGEST: HeaderName = HeaderName::from_static("want-repr-digest");

/// The algorithms that are not broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// `sha-256`.
    Sha256,
    /// `sha-512`.
    Sha512,
}

impl Algorithm {
    const ALL: [Algorithm; 2] = [Algorithm::Sha256, Algorithm::Sha512];

    /// The key in the header.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Sha256 => "sha-256",
            Algorithm::Sha512 => "sha-512",
        }
    }

    /// Bytes of a hash.
    pub fn length(self) -> usize {
        match self {
            Algorithm::Sha256 => 32,
            Algorithm::Sha512 => 64,
        }
    }
}

/// The value of `Repr-Digest`; nothing if `hash` has another length than the algorithm's.
pub fn value(algorithm: Algorithm, hash: &[u8]) -> Option<HeaderValue> {
    let text = format!("{}=:{}:", algorithm.name(), STANDARD.encode(hash));
    let fits = hash.len() == algorithm.length();
    fits.then(|| HeaderValue::from_maybe_shared(Bytes::from(text)).ok())?
}

/// The hash a message gives for its representation. Said twice, the last counts, as in every structured dictionary.
pub fn given(headers: &HeaderMap, algorithm: Algorithm) -> Option<Vec<u8>> {
    let value = member(headers, &REPR_DIGEST, algorithm.name())?;
    let inner = value.strip_prefix(b":")?.strip_suffix(b":")?;
    let hash = STANDARD.decode(inner).ok()?;
    (hash.len() == algorithm.length()).then_some(hash)
}

/// The algorithm a client would like best, if it asks for one of ours.
pub fn wanted(headers: &HeaderMap) -> Option<Algorithm> {
    // Hardly anybody asks, and each look costs.
    if !headers.contains_key(&WANT_REPR_DIGEST) {
        return None;
    }
    let weight = |algorithm: Algorithm| match member(headers, &WANT_REPR_DIGEST, algorithm.name())?
    {
        b"10" => Some(10),
        [digit @ b'1'..=b'9'] => Some(digit - b'0'),
        _ => None,
    };
    let wanted = Algorithm::ALL
        .into_iter()
        .filter_map(|known| Some((weight(known)?, known)));
    // The first of equals: the shorter hash is the cheaper one.
    wanted
        .rev()
        .max_by_key(|(weight, _)| *weight)
        .map(|(_, known)| known)
}

/// The value of a dictionary member, its parameters apart.
fn member<'a>(headers: &'a HeaderMap, name: &HeaderName, key: &str) -> Option<&'a [u8]> {
    let mut found = None;
    for line in headers.get_all(name) {
        for part in unquoted_split(line.as_bytes(), b',')? {
            if let Some(rest) = part.strip_prefix(key.as_bytes())
                && let Some(value) = rest.strip_prefix(b"=")
            {
                found = value.split(|byte| *byte == b';').next();
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
