//! An issuer's public keys, read from a JWKS document within bounds, each bound to the algorithms it may be used with.

mod algorithm;
mod jwk;
mod refresh;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use jwk::Key;

pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use refresh::{Freshness, KeySetState, Refresh};

/// Longest JWKS document that is read.
pub const KEY_SET_BYTES_MAX: usize = 256 * 1024;
/// Most keys in a JWKS document.
pub const KEY_SET_KEYS_MAX: usize = 64;

/// Why a JWKS document is not used; the keys of the last good one stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeySetError {
    /// Past [`KEY_SET_BYTES_MAX`].
    #[error("the key set is longer than 262144 bytes")]
    TooLong,
    /// Past [`KEY_SET_KEYS_MAX`].
    #[error("the key set has more than 64 keys")]
    TooMany,
    /// Not a JWKS document.
    #[error("the key set is not a JSON object with a `keys` array")]
    Malformed,
    /// No key by which a token could be verified.
    #[error("the key set has no public signature key of a kind that is supported")]
    NoKey,
    /// Two different keys that a token could mean alike.
    #[error("two keys of the set have the same `kid` and algorithm")]
    DuplicateKid,
}

/// The keys of one issuer.
#[derive(Debug)]
pub struct KeySet {
    keys: Vec<Key>,
    skipped: usize,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl KeySet {
    /// Reads a JWKS document. Keys for encryption, symmetric ones and those of unknown kinds are left out.
    pub fn parse(document: &[u8]) -> Result<Self, KeySetError> {
        if document.len() > KEY_SET_BYTES_MAX {
            return Err(KeySetError::TooLong);
        }
        let document: Document =
            serde_json::from_slice(document).map_err(|_| KeySetError::Malformed)?;
        let listed = document.keys.len();
        if listed > KEY_SET_KEYS_MAX {
            return Err(KeySetError::TooMany);
        }
        let mut keys: Vec<Key> = Vec::new();
        for key in document.keys.into_iter().filter_map(jwk::read) {
            if keys.iter().any(|other| other.is_mistakable_for(&key)) {
                return Err(KeySetError::DuplicateKid);
            }
            keys.push(key);
        }
        let skipped = listed - keys.len();
        match keys.is_empty() {
            true => Err(KeySetError::NoKey),
            false => Ok(Self { keys, skipped }),
        }
    }

    /// How many keys it holds.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Never: a set without keys is not made.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many keys of the document were left out.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// The one key a token means: that of its `kid`, or without one the only key there is for its algorithm.
    pub(crate) fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<&Key> {
        let mut fitting = self
            .keys
            .iter()
            .filter(|key| key.serves(algorithm) && kid.is_none_or(|kid| key.kid() == Some(kid)));
        let key = fitting.next()?;
        fitting.next().is_none().then_some(key)
    }

    /// Whether a key with this `kid` exists for whatever algorithm.
    pub(crate) fn knows(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid() == Some(kid))
    }

    /// Whether every key of `other` is here too, so that what those verified still holds.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        other
            .keys
            .iter()
            .all(|key| self.keys.iter().any(|own| own.is_same(key)))
    }
}

#[cfg(test)]
mod tests;
