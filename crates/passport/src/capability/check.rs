//! Verifying a passport: first the chain of tags, then every caveat.

use std::collections::HashMap;

use super::caveat::{self, Caveat};
use super::{Passport, RootKey, next_tag};
use crate::denied::Denied;
use crate::identity::UnixSeconds;
use crate::limits::Limits;

/// What a genuine passport leaves its holder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) tenant: String,
    /// Never empty, and by name: the first is the one that counts.
    pub(crate) classes: Vec<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) until: UnixSeconds,
    pub(crate) limits: Limits,
}

/// Root keys by id, each with the class of passports that name none.
#[derive(Debug, Default)]
pub(crate) struct RootKeys(HashMap<Box<str>, (RootKey, String)>);

impl RootKeys {
    /// `false` when the id is taken.
    pub(crate) fn add(&mut self, key: RootKey, class: &str) -> bool {
        let id = key.id.clone();
        self.0.insert(id, (key, class.to_owned())).is_none()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn verify(&self, text: &str, now: UnixSeconds) -> Result<Verified, Denied> {
        let passport = Passport::inspect(text).map_err(|_| Denied::Malformed)?;
        let (root, class) = self.0.get(&passport.root).ok_or(Denied::UnknownRoot)?;
        if !is_genuine(root, &passport) {
            return Err(Denied::Signature);
        }
        let verified = narrowed(&passport, class)?;
        if now >= verified.until {
            return Err(Denied::Expired);
        }
        Ok(verified)
    }
}

fn is_genuine(root: &RootKey, passport: &Passport) -> bool {
    let first = root.first_tag(passport);
    let tag = passport
        .caveats
        .iter()
        .fold(first, |tag, caveat| next_tag(&tag, caveat.as_bytes()));
    // Compared as hashes, in a time that does not depend on where they differ.
    blake3::Hash::from_bytes(*tag) == blake3::Hash::from_bytes(*passport.tag)
}

fn narrowed(passport: &Passport, class: &str) -> Result<Verified, Denied> {
    let grant = passport.grant.clone();
    let classes = match grant.classes.is_empty() {
        true => vec![class.to_owned()],
        false => grant.classes,
    };
    let mut left = Verified {
        tenant: grant.tenant,
        classes,
        tags: grant.tags,
        until: grant.until,
        limits: Limits::default(),
    };
    for text in &passport.caveats {
        let caveat = caveat::read(text).ok_or(Denied::Caveat)?;
        left.narrow(&caveat)?;
    }
    Ok(left)
}

impl Verified {
    fn narrow(&mut self, caveat: &Caveat) -> Result<(), Denied> {
        match caveat {
            Caveat::Until(until) => self.until = self.until.min(*until),
            Caveat::Tenant(tenant) if *tenant != self.tenant => return Err(Denied::Caveat),
            Caveat::Tenant(_) => (),
            Caveat::Classes(kept) => self.classes.retain(|class| kept.contains(class)),
            Caveat::Tags(kept) => self.tags.retain(|tag| kept.contains(tag)),
            Caveat::Path(prefix) => self.limits.within_path(prefix),
            Caveat::Methods(methods) => self.limits.within_methods(*methods),
            Caveat::BodyBytesMax(bytes) => self.limits.within_body(*bytes),
        }
        match self.classes.is_empty() {
            true => Err(Denied::Caveat),
            false => Ok(()),
        }
    }
}
