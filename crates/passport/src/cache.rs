//! What was verified lately: found by a secret fingerprint, bounded, the good apart from the bad.

use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use quick_cache::sync::{Cache as Table, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use crate::credential::Credential;
use crate::denied::Denied;
use crate::identity::{Identity, UnixSeconds};
use crate::jwt::Stamp;
use crate::secret::Seed;

/// What an entry may weigh on average; one with many tags takes the room of several.
const ENTRY_BYTES: usize = 512;
/// Without a size of its own in the settings: a refusal needs little room and little time.
const REFUSALS: usize = 8_192;
const REFUSAL_SECONDS: u64 = 10;
/// After this a good answer is asked again, whatever it said of itself.
const IDENTITY_SECONDS: u64 = 300;

/// Fingerprints credentials with GMAC under a key and nonces that never change and never leave.
///
/// What is needed is that nobody can find two credentials with one fingerprint. GHASH under a secret key is such a
/// function: two texts of up to 8 KiB collide with a chance below 2^-118, whoever chose them, as long as no fingerprint
/// is seen from outside; and none is. That is also why a nonce may be used again, which would be fatal for tags that
/// are published. A hash function that stands without a secret does the same at several times the cost for a long
/// token: keyed BLAKE3 took 0.9 µs for 800 bytes where this took 0.16.
///
/// What a trusted hop calls a tenant is no secret, and what is known by it has the name in it to be compared: for that
/// a hash does that nobody outside can foresee.
struct Fingerprints {
    secrets: LessSafeKey,
    /// Has heard a secret already.
    names: DefaultHasher,
}

impl Fingerprints {
    fn new(seed: &Seed) -> Self {
        let key = seed.derive("macronode passport 1 cache fingerprints");
        let key = UnboundKey::new(&AES_256_GCM, &key[..]).expect("32 bytes are a key");
        let mut names = DefaultHasher::new();
        names.write(&seed.derive("macronode passport 1 cache names")[..]);
        Self {
            secrets: LessSafeKey::new(key),
            names,
        }
    }

    fn of(&self, credential: &Credential<'_>) -> Fingerprint {
        match credential {
            Credential::TrustedHeader(name) => self.of_name(name),
            _ => self.of_secret(credential),
        }
    }

    fn of_name(&self, name: &str) -> Fingerprint {
        let mut hasher = self.names.clone();
        hasher.write(name.as_bytes());
        Fingerprint(hasher.finish(), 0)
    }

    fn of_secret(&self, credential: &Credential<'_>) -> Fingerprint {
        let mut nonce = [0; 12];
        nonce[0] = credential.kind();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let text = Aad::from(credential.text().as_bytes());
        let tag = self
            .secrets
            .seal_in_place_separate_tag(nonce, text, &mut []);
        let tag = tag.expect("nothing is sealed, so nothing is too long");
        let (low, high) = tag.as_ref().split_at(8);
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("half of 16 bytes"));
        Fingerprint(word(low), word(high))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Fingerprint(u64, u64);

/// Uniform already, so half of it is the hash.
impl Hash for Fingerprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
}

/// By whose settings, and by which keys, answers are given that hold now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Editions {
    /// Of the settings.
    pub(crate) settings: u64,
    /// Of the settings and of all keys: a refusal may be of a key that has come since.
    pub(crate) keys: u64,
}

#[derive(Clone)]
struct Known {
    settings: u64,
    identity: Arc<Identity>,
    since: UnixSeconds,
    stamp: Option<Stamp>,
}

impl Known {
    /// Not another of the same fingerprint.
    fn is_of(&self, credential: &Credential<'_>) -> bool {
        match credential {
            Credential::TrustedHeader(name) => **name == *self.identity.tenant,
            _ => true,
        }
    }
}

#[derive(Clone, Copy)]
struct Refused {
    keys: u64,
    why: Denied,
    since: UnixSeconds,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Fingerprint, Known> for Bytes {
    fn weight(&self, _: &Fingerprint, known: &Known) -> u64 {
        (size_of::<(Fingerprint, Known)>() + known.identity.bytes()) as u64
    }
}

type Build = BuildHasherDefault<AsItIs>;

/// Shared by verifiers that came one after another. None of them gives another's answers, but each can tell who is no
/// stranger.
pub(crate) struct Cache {
    editions: AtomicU64,
    fingerprints: Fingerprints,
    known: Table<Fingerprint, Known, Bytes, Build>,
    refused: Table<Fingerprint, Refused, quick_cache::UnitWeighter, Build>,
}

impl Cache {
    pub(crate) fn new(seed: &Seed, entries: usize) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(entries)
            .weight_capacity((entries * ENTRY_BYTES) as u64)
            .build()
            .expect("both capacities are given");
        Self {
            editions: AtomicU64::new(0),
            fingerprints: Fingerprints::new(seed),
            known: Table::with_options(
                options,
                Bytes,
                Build::default(),
                DefaultLifecycle::default(),
            ),
            refused: Table::with(
                REFUSALS,
                REFUSALS as u64,
                quick_cache::UnitWeighter,
                Build::default(),
                DefaultLifecycle::default(),
            ),
        }
    }

    /// A number that nobody else has.
    pub(crate) fn edition(&self) -> u64 {
        self.editions.fetch_add(1, Ordering::Relaxed)
    }

    /// `holds` says whether the keys that verified a token are still in use.
    pub(crate) fn get(
        &self,
        credential: &Credential<'_>,
        now: UnixSeconds,
        editions: Editions,
        holds: impl FnOnce(Stamp) -> bool,
    ) -> Option<Result<Arc<Identity>, Denied>> {
        let fingerprint = self.fingerprints.of(credential);
        if let Some(known) = self.known.get(&fingerprint) {
            if !known.is_of(credential) {
                return None;
            }
            let current = known.settings == editions.settings
                && lately(known.since, now, IDENTITY_SECONDS)
                && known.stamp.is_none_or(holds);
            let ended = known.identity.until.is_some_and(|until| now >= until);
            return current.then_some(match ended {
                true => Err(Denied::Expired),
                false => Ok(known.identity),
            });
        }
        let refused = self.refused.get(&fingerprint)?;
        let current = refused.keys == editions.keys && lately(refused.since, now, REFUSAL_SECONDS);
        current.then_some(Err(refused.why))
    }

    /// Whether it was good when somebody verified it last.
    pub(crate) fn was_good(&self, credential: &Credential<'_>) -> bool {
        let known = self.known.peek(&self.fingerprints.of(credential));
        known.is_some_and(|known| known.is_of(credential))
    }

    pub(crate) fn keep(
        &self,
        credential: &Credential<'_>,
        since: UnixSeconds,
        answer: &Result<Arc<Identity>, Denied>,
        stamp: Option<Stamp>,
        editions: Editions,
    ) {
        match answer {
            Ok(identity) => self.known.insert(
                self.fingerprints.of(credential),
                Known {
                    settings: editions.settings,
                    identity: Arc::clone(identity),
                    since,
                    stamp,
                },
            ),
            Err(why) if why.keeps() => {
                let fingerprint = self.fingerprints.of(credential);
                self.known.remove(&fingerprint);
                let refused = Refused {
                    keys: editions.keys,
                    why: *why,
                    since,
                };
                self.refused.insert(fingerprint, refused);
            }
            // It says nothing about the credential.
            Err(Denied::KeysUnavailable(_)) => (),
            Err(_) => drop(self.known.remove(&self.fingerprints.of(credential))),
        }
    }

    pub(crate) fn len(&self) -> (usize, usize) {
        (self.known.len(), self.refused.len())
    }
}

/// Within `seconds` after `since`; not before it, in case the clock was set back.
fn lately(since: UnixSeconds, now: UnixSeconds, seconds: u64) -> bool {
    (since..since.plus(seconds)).contains(&now)
}

#[cfg(test)]
mod tests;
