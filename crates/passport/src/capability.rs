//! Passports: tokens that say what their holder may do, and that every holder can narrow before passing them on.

mod caveat;
mod check;
mod wire;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::identity::UnixSeconds;
use crate::tenant::{is_name, is_tenant};

pub use caveat::Caveat;
pub(crate) use check::RootKeys;

/// What the text of a passport begins with.
pub const PASSPORT_PREFIX: &str = "mp1_";
/// Longest text of a passport.
pub const PASSPORT_BYTES_MAX: usize = 4 * 1024;
/// Most caveats of a passport.
pub const CAVEATS_MAX: usize = 32;

const NONCE_BYTES: usize = 16;
const TAG_BYTES: usize = 32;
const ROOT_ID_BYTES_MAX: usize = 32;
const ITEM_BYTES_MAX: usize = 1024;
const GRANTS_MAX: usize = 64;

/// Why a passport could not be read or made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PassportError {
    /// Not the text of a passport.
    #[error("this is not a passport")]
    Malformed,
    /// Past [`PASSPORT_BYTES_MAX`], [`CAVEATS_MAX`], or too long a part.
    #[error(
        "the passport would be longer than 4096 characters, have more than 32 caveats, or too long a part"
    )]
    TooLarge,
    /// A name that is empty or has blanks, commas or other than ASCII.
    #[error("a tenant, class, tag, path or key id is empty or has characters that are not allowed")]
    BadName,
}

/// What the holder of the root key gives: only the minter can write this, no later holder adds to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who pays.
    pub tenant: String,
    /// The first second in which nothing of it is good any more: no passport is for ever.
    pub until: UnixSeconds,
    /// Classes the holder may choose from, the first that is left counting; empty stands for the root key's own.
    pub classes: Vec<String>,
    /// What policy finds on it.
    pub tags: Vec<String>,
}

impl Grant {
    /// To `tenant` for some time, with no more than that.
    pub fn to(tenant: &str, until: UnixSeconds) -> Self {
        Self {
            tenant: tenant.to_owned(),
            until,
            classes: Vec::new(),
            tags: Vec::new(),
        }
    }

    fn is_good(&self) -> bool {
        let mut names = self.classes.iter().chain(&self.tags);
        is_tenant(&self.tenant) && names.all(|name| is_name(name))
    }
}

/// A secret from which passports are minted, and by which they are verified.
#[derive(Clone)]
pub struct RootKey {
    id: Box<str>,
    key: Zeroizing<[u8; 32]>,
}

impl RootKey {
    /// `id` is public and tells the keys apart while one replaces another.
    pub fn new(id: &str, secret: &[u8; 32]) -> Result<Self, PassportError> {
        let good = id.len() <= ROOT_ID_BYTES_MAX && is_name(id);
        good.then(|| Self {
            id: id.into(),
            key: Zeroizing::new(blake3::derive_key("macronode passport 1 root key", secret)),
        })
        .ok_or(PassportError::BadName)
    }

    /// See [`Self::new`].
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A passport. `nonce` is random: it tells passports apart that say the same.
    pub fn mint(&self, nonce: [u8; NONCE_BYTES], grant: Grant) -> Result<Passport, PassportError> {
        if !grant.is_good() {
            return Err(PassportError::BadName);
        }
        if 1 + grant.classes.len() + grant.tags.len() > GRANTS_MAX {
            return Err(PassportError::TooLarge);
        }
        let mut passport = Passport {
            root: self.id.clone(),
            nonce,
            grant,
            caveats: Vec::new(),
            tag: Zeroizing::new([0; TAG_BYTES]),
        };
        passport.tag = self.first_tag(&passport);
        passport
            .fits()
            .then_some(passport)
            .ok_or(PassportError::TooLarge)
    }

    fn first_tag(&self, passport: &Passport) -> Zeroizing<[u8; TAG_BYTES]> {
        next_tag(&self.key, &wire::head(passport))
    }
}

impl fmt::Debug for RootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootKey({:?}, ..)", self.id)
    }
}

fn next_tag(key: &[u8; 32], message: &[u8]) -> Zeroizing<[u8; TAG_BYTES]> {
    Zeroizing::new(*blake3::keyed_hash(key, message).as_bytes())
}

/// A passport, read but not verified: only its verifier knows whether it is genuine.
#[derive(Clone, PartialEq, Eq)]
pub struct Passport {
    root: Box<str>,
    nonce: [u8; NONCE_BYTES],
    grant: Grant,
    caveats: Vec<Box<str>>,
    /// The key under which the next caveat would be tagged: whoever has it may narrow, nobody may widen.
    tag: Zeroizing<[u8; TAG_BYTES]>,
}

impl Passport {
    /// Reads a passport without verifying it: what `inspect` shows, and where a holder begins to narrow it.
    pub fn inspect(text: &str) -> Result<Self, PassportError> {
        if text.len() > PASSPORT_BYTES_MAX {
            return Err(PassportError::TooLarge);
        }
        let coded = text
            .strip_prefix(PASSPORT_PREFIX)
            .ok_or(PassportError::Malformed)?;
        let bytes = URL_SAFE_NO_PAD
            .decode(coded)
            .map_err(|_| PassportError::Malformed)?;
        wire::read(&Zeroizing::new(bytes)).ok_or(PassportError::Malformed)
    }

    /// The same with one more caveat: needs no secret but the passport itself.
    pub fn attenuate(&self, caveat: &Caveat) -> Result<Self, PassportError> {
        let text = caveat.to_string();
        if caveat::read(&text).as_ref() != Some(caveat) {
            return Err(PassportError::BadName);
        }
        let mut narrower = self.clone();
        narrower.tag = next_tag(&self.tag, text.as_bytes());
        narrower.caveats.push(text.into());
        narrower
            .fits()
            .then_some(narrower)
            .ok_or(PassportError::TooLarge)
    }

    /// The text that is sent as `Authorization: Bearer`.
    pub fn to_text(&self) -> Zeroizing<String> {
        let bytes = Zeroizing::new(wire::write(self));
        let mut text = Zeroizing::new(String::with_capacity(wire::text_len(self)));
        text.push_str(PASSPORT_PREFIX);
        URL_SAFE_NO_PAD.encode_string(&bytes[..], &mut text);
        text
    }

    /// The id of the root key it claims.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Tells passports apart, in logs too: it is no secret.
    pub fn nonce(&self) -> &[u8; NONCE_BYTES] {
        &self.nonce
    }

    /// What the minter gave.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// The caveats as written, the oldest first, also those that nobody here understands.
    pub fn caveats(&self) -> impl Iterator<Item = &str> {
        self.caveats.iter().map(|caveat| &**caveat)
    }

    fn fits(&self) -> bool {
        let short = self
            .caveats
            .iter()
            .all(|caveat| caveat.len() <= ITEM_BYTES_MAX);
        short && self.caveats.len() <= CAVEATS_MAX && wire::text_len(self) <= PASSPORT_BYTES_MAX
    }
}

/// Everything but the tag, which is what makes it a secret.
impl fmt::Debug for Passport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passport")
            .field("root", &self.root)
            .field("nonce", &self.nonce)
            .field("grant", &self.grant)
            .field("caveats", &self.caveats)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
