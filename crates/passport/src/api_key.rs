//! API keys: made here, kept only as hashes, found by hash.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;
use zeroize::Zeroizing;

use crate::identity::Identity;

/// What every key made here begins with, so that people and scanners know it when they see it.
pub const API_KEY_PREFIX: &str = "mk_";

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 62^43 is the first power beyond 2^256.
const DIGITS_OF_32_BYTES: usize = 43;
const HASH_PREFIX: &str = "blake3:";

/// A fresh key. Shown once to the one who is to have it; the settings get its hash.
pub struct ApiKey(Zeroizing<String>);

impl ApiKey {
    /// From 32 random bytes, such as [`crate::random`] gives.
    pub fn from_random(bytes: &[u8; 32]) -> Self {
        let mut number = Zeroizing::new(*bytes);
        let mut digits = Zeroizing::new([0; DIGITS_OF_32_BYTES]);
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[usize::from(divide(&mut number, 62))];
        }
        let mut text = Zeroizing::new(String::with_capacity(API_KEY_PREFIX.len() + digits.len()));
        text.push_str(API_KEY_PREFIX);
        text.extend(digits.iter().map(|digit| char::from(*digit)));
        Self(text)
    }

    /// The key itself.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// What the settings keep of it.
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(&self.0)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// Divides a big-endian number in place and returns the remainder.
fn divide(number: &mut [u8; 32], by: u16) -> u8 {
    let mut rest = 0;
    for byte in number {
        let value = rest << 8 | u16::from(*byte);
        *byte = (value / by) as u8;
        rest = value % by;
    }
    rest as u8
}

/// A key's BLAKE3 hash, written `blake3:` and 64 hexadecimal digits.
///
/// A plain hash is enough: a key is 256 random bits, so there is nothing to guess from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash(blake3::Hash);

impl KeyHash {
    /// Of any key, also one made elsewhere; it should be as hard to guess as ours.
    pub fn of(key: &str) -> Self {
        Self(blake3::hash(key.as_bytes()))
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HASH_PREFIX}{}", self.0.to_hex())
    }
}

/// Not a hash line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a key's hash is written `blake3:` and 64 hexadecimal digits; `macronode key new` prints one"
)]
pub struct BadKeyHash;

impl FromStr for KeyHash {
    type Err = BadKeyHash;

    fn from_str(line: &str) -> Result<Self, BadKeyHash> {
        let digits = line.strip_prefix(HASH_PREFIX).ok_or(BadKeyHash)?;
        blake3::Hash::from_hex(digits)
            .map(Self)
            .map_err(|_| BadKeyHash)
    }
}

/// Who has which key.
///
/// Looked up by hash, never compared with the key: how long a lookup takes tells of the hash of what was offered, from
/// which no key is found.
#[derive(Default)]
pub(crate) struct ApiKeys(HashMap<[u8; 32], Arc<Identity>>);

impl ApiKeys {
    /// `false` when the key is somebody's already.
    pub(crate) fn add(&mut self, hash: KeyHash, identity: Identity) -> bool {
        self.0
            .insert(*hash.0.as_bytes(), Arc::new(identity))
            .is_none()
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Arc<Identity>> {
        self.0.get(KeyHash::of(key).0.as_bytes())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
