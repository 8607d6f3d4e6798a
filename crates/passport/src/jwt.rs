//! Signed tokens of known issuers: the header is distrusted, the key decides, then every claim must fit.

mod claims;
mod header;

use arc_swap::ArcSwapOption;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::denied::Denied;
use crate::identity::{Class, UnixSeconds};
use crate::keys::KeySet;
use crate::settings::{Issuer, IssuerId};

use header::Header;

/// What a good token says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) tenant: String,
    pub(crate) class: Class,
    pub(crate) tags: Vec<String>,
    pub(crate) until: UnixSeconds,
    pub(crate) stamp: Stamp,
}

/// Which keys of which issuer verified a token: it is asked again once some of them are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) issuer: IssuerId,
    generation: u32,
}

/// An issuer, with class names resolved, and its keys of today.
pub(crate) struct Authority {
    issuer: Issuer,
    class: Class,
    classes: Vec<(String, Class)>,
    keys: ArcSwapOption<KeySet>,
    /// Counts the times that keys went away.
    generation: AtomicU32,
}

#[derive(Default)]
pub(crate) struct Authorities(Vec<Authority>);

impl Authority {
    pub(crate) fn new(issuer: Issuer, class: Class, classes: Vec<(String, Class)>) -> Self {
        Self {
            issuer,
            class,
            classes,
            keys: ArcSwapOption::empty(),
            generation: AtomicU32::new(0),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.issuer.iss
    }

    pub(crate) fn keys(&self) -> Option<Arc<KeySet>> {
        self.keys.load_full()
    }

    /// The new keys are in place before the old ones' tokens are forgotten: a token verified in between is by the new.
    /// Whether they are others than before.
    pub(crate) fn set_keys(&self, keys: Arc<KeySet>) -> bool {
        let before = self.keys.swap(Some(Arc::clone(&keys)));
        let Some(before) = before else {
            return true;
        };
        let lost = !keys.includes(&before);
        if lost {
            self.generation.fetch_add(1, Ordering::Release);
        }
        lost || !before.includes(&keys)
    }
}

impl Authorities {
    pub(crate) fn add(&mut self, authority: Authority) {
        self.0.push(authority);
    }

    pub(crate) fn get(&self, id: IssuerId) -> Option<&Authority> {
        self.0.get(usize::from(id.0))
    }

    pub(crate) fn all(&self) -> &[Authority] {
        &self.0
    }

    pub(crate) fn holds(&self, stamp: Stamp) -> bool {
        let authority = self.get(stamp.issuer);
        authority.is_some_and(|own| own.generation.load(Ordering::Acquire) == stamp.generation)
    }

    pub(crate) fn verify(&self, token: &str, now: UnixSeconds) -> Result<Verified, Denied> {
        let token = Token::read(token)?;
        let (authority, issuer) = self.issuer_of(&token)?;
        let algorithm = token.header.algorithm()?;
        if !authority.issuer.algorithms.contains(&algorithm) {
            return Err(Denied::Algorithm);
        }
        // Read before the keys: if these change meanwhile, the answer is stamped as old and soon asked again.
        let generation = authority.generation.load(Ordering::Acquire);
        let keys = authority.keys.load();
        let keys = keys.as_ref().ok_or(Denied::KeysUnavailable(issuer))?;
        let kid = token.header.kid.as_deref();
        let key = keys.find(kid, algorithm).ok_or_else(|| match kid {
            Some(kid) if keys.knows(kid) => Denied::Algorithm,
            _ => Denied::UnknownKey(issuer),
        })?;
        if !key.verify(algorithm, token.signed, &token.signature) {
            return Err(Denied::Signature);
        }
        authority.judge(&token.claims, now, Stamp { issuer, generation })
    }

    fn issuer_of(&self, token: &Token<'_>) -> Result<(&Authority, IssuerId), Denied> {
        let iss = token.claims.get("iss").and_then(Value::as_str);
        let at = self.0.iter().position(|own| Some(own.name()) == iss);
        let at = at.ok_or(Denied::UnknownIssuer)?;
        Ok((&self.0[at], IssuerId(at as u16)))
    }
}

/// A token taken apart; nothing of it is to be believed yet.
struct Token<'a> {
    header: Header,
    claims: Map<String, Value>,
    signed: &'a [u8],
    signature: Vec<u8>,
}

impl<'a> Token<'a> {
    fn read(text: &'a str) -> Result<Self, Denied> {
        let (signed, signature) = text.rsplit_once('.').ok_or(Denied::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(Denied::Malformed)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| Denied::Malformed);
        Ok(Self {
            header: Header::read(&decode(header)?)?,
            claims: claims::object(&decode(payload)?).ok_or(Denied::Malformed)?,
            signed: signed.as_bytes(),
            signature: decode(signature)?,
        })
    }
}

#[cfg(test)]
mod tests;
