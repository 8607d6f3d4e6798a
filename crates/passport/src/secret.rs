//! The secret a process draws once, from which its private tables get their keys.

use std::fmt;

use zeroize::Zeroizing;

/// 32 random bytes, drawn once per process and kept over reloads, so that a tenant keeps its number.
#[derive(Clone)]
pub struct Seed(Zeroizing<[u8; 32]>);

impl Seed {
    /// A seed of the caller's own; the same one gives the same numbers.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Drawn from the system, or `None` when it has no randomness to give.
    pub fn draw() -> Option<Self> {
        random().map(Self)
    }

    pub(crate) fn derive(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(blake3::derive_key(purpose, &self.0[..]))
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

/// Fresh bytes from the system's generator: for seeds, API keys, root keys, and the nonces of passports. From the
/// system itself, since the generator of the library for cryptography gathers entropy of its own before its first
/// byte, for some 30 ms, and a node that needs no other randomness would begin that much later.
pub fn random<const N: usize>() -> Option<Zeroizing<[u8; N]>> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut bytes[..]).ok()?;
    Some(bytes)
}
