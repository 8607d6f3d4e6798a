//! The one door: a credential goes in, an identity or a refusal comes out.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cache::{Cache, Editions};
use crate::credential::{CREDENTIAL_BYTES_MAX, Credential, Kind};
use crate::denied::Denied;
use crate::identity::{Class, Identity, Method, UnixSeconds};
use crate::jwt::Stamp;
use crate::keys::KeySet;
use crate::limits::Limits;
use crate::secret::Seed;
use crate::settings::{IssuerId, Settings, SettingsError};
use crate::tables::Tables;
use crate::tenant::is_tenant;

/// Verifies credentials, and remembers.
pub struct Verifier {
    tables: Tables,
    cache: Arc<Cache>,
    entries: usize,
    /// Its answers bear it.
    edition: u64,
    /// Its refusals bear it: another one since keys changed.
    keys_edition: AtomicU64,
}

impl Verifier {
    /// From settings, or with every mistake in them.
    ///
    /// After a change of settings make another with the same seed by [`Self::renewed`], and give it the keys of the
    /// one before: see [`Self::keys`].
    pub fn new(settings: Settings, seed: &Seed) -> Result<Self, Vec<SettingsError>> {
        Self::with(settings, seed, None)
    }

    /// Another for other settings. It verifies everybody anew, and knows who was good before: [`Self::was_good`].
    pub fn renewed(&self, settings: Settings, seed: &Seed) -> Result<Self, Vec<SettingsError>> {
        Self::with(settings, seed, Some(self))
    }

    fn with(
        settings: Settings,
        seed: &Seed,
        before: Option<&Self>,
    ) -> Result<Self, Vec<SettingsError>> {
        let entries = settings.cache_entries.0;
        let tables = Tables::new(settings, seed)?;
        let before = before.filter(|before| before.entries == entries);
        let cache = match before {
            Some(before) => before.cache.clone(),
            None => Arc::new(Cache::new(seed, entries)),
        };
        let edition = cache.edition();
        Ok(Self {
            tables,
            cache,
            entries,
            edition,
            keys_edition: AtomicU64::new(edition),
        })
    }

    /// Whether any credential of this kind is good here.
    pub fn accepts(&self, kind: Kind) -> bool {
        let none = match kind {
            Kind::ApiKey => self.tables.api_keys.is_empty(),
            Kind::Passport => self.tables.roots.is_empty(),
            Kind::Token => self.tables.authorities.all().is_empty(),
            Kind::Certificate => self.tables.subjects.is_empty(),
        };
        !none
    }

    /// The answer, if it is known: one fingerprint, one lookup, nothing allocated.
    pub fn cached(
        &self,
        credential: Credential<'_>,
        now: UnixSeconds,
    ) -> Option<Result<Arc<Identity>, Denied>> {
        if let Err(denied) = worth_a_look(&credential) {
            return Some(Err(denied));
        }
        let holds = |stamp| self.tables.authorities.holds(stamp);
        self.cache.get(&credential, now, self.editions(), holds)
    }

    /// Whether it was good when it was last verified, under whatever settings and keys: who shows it again is no
    /// stranger, and not to be charged. Good is only what [`Self::verify`] says now; what it refuses was never good.
    pub fn was_good(&self, credential: Credential<'_>) -> bool {
        self.cache.was_good(&credential)
    }

    /// The answer, found by verifying, which costs up to a signature: to be charged to the source beforehand.
    pub fn verify(
        &self,
        credential: Credential<'_>,
        now: UnixSeconds,
    ) -> Result<Arc<Identity>, Denied> {
        worth_a_look(&credential)?;
        // Before the keys are: if these change meanwhile, a refusal is as old as they are.
        let editions = self.editions();
        let (answer, stamp) = match self.decide(&credential, now) {
            Ok((identity, stamp)) => (Ok(identity), stamp),
            Err(denied) => (Err(denied), None),
        };
        self.cache.keep(&credential, now, &answer, stamp, editions);
        answer
    }

    /// Takes over an issuer's keys; what keys verified that are gone is verified anew, and so is what was refused, if
    /// they are others than before.
    pub fn set_keys(&self, issuer: IssuerId, keys: Arc<KeySet>) {
        let authority = self.tables.authorities.get(issuer);
        if authority.is_some_and(|authority| authority.set_keys(keys)) {
            let edition = self.cache.edition();
            self.keys_edition.store(edition, Ordering::Release);
        }
    }

    /// An issuer's keys, to be carried over into the next verifier.
    pub fn keys(&self, issuer: IssuerId) -> Option<Arc<KeySet>> {
        self.tables.authorities.get(issuer)?.keys()
    }

    /// The issuers and their names.
    pub fn issuers(&self) -> impl Iterator<Item = (IssuerId, &str)> {
        let all = self.tables.authorities.all().iter().enumerate();
        all.map(|(at, authority)| (IssuerId(at as u16), authority.name()))
    }

    /// The number of a tenant, as its identities have it.
    pub fn tenant_key(&self, tenant: &str) -> u64 {
        self.tables.tenant_keys.key(tenant)
    }

    /// How many identities and how many refusals are remembered.
    pub fn remembered(&self) -> (usize, usize) {
        self.cache.len()
    }

    fn editions(&self) -> Editions {
        Editions {
            settings: self.edition,
            keys: self.keys_edition.load(Ordering::Acquire),
        }
    }

    fn decide(&self, credential: &Credential<'_>, now: UnixSeconds) -> Answer {
        match *credential {
            Credential::None => Err(Denied::Missing),
            Credential::ApiKey(key) => self.api_key(key, now),
            Credential::Bearer(token) => match Kind::of_bearer(token.as_bytes()) {
                Kind::Passport => self.passport(token, now),
                Kind::ApiKey => self.api_key(token, now),
                Kind::Token | Kind::Certificate => self.token(token, now),
            },
            Credential::ClientCertificate { subject } => self.certificate(subject),
            Credential::TrustedHeader(tenant) => self.by_word(tenant),
        }
    }

    fn api_key(&self, key: &str, now: UnixSeconds) -> Answer {
        if !self.accepts(Kind::ApiKey) {
            return Err(Denied::NotAccepted);
        }
        let identity = self
            .tables
            .api_keys
            .find(key)
            .ok_or(Denied::UnknownApiKey)?;
        match identity.until {
            Some(until) if now >= until => Err(Denied::Expired),
            _ => Ok((Arc::clone(identity), None)),
        }
    }

    fn passport(&self, text: &str, now: UnixSeconds) -> Answer {
        if !self.accepts(Kind::Passport) {
            return Err(Denied::NotAccepted);
        }
        let verified = self.tables.roots.verify(text, now)?;
        let class = verified
            .classes
            .first()
            .and_then(|name| self.tables.class(name));
        let identity = Identity {
            tags: boxed(verified.tags),
            until: Some(verified.until),
            limits: verified.limits,
            ..self.named(
                &verified.tenant,
                class.ok_or(Denied::Caveat)?,
                Method::Passport,
            )
        };
        Ok((Arc::new(identity), None))
    }

    fn token(&self, token: &str, now: UnixSeconds) -> Answer {
        if !self.accepts(Kind::Token) {
            return Err(Denied::NotAccepted);
        }
        let verified = self.tables.authorities.verify(token, now)?;
        let identity = Identity {
            tags: boxed(verified.tags),
            until: Some(verified.until),
            ..self.named(&verified.tenant, verified.class, Method::Jwt)
        };
        Ok((Arc::new(identity), Some(verified.stamp)))
    }

    fn certificate(&self, subject: &str) -> Answer {
        if !self.accepts(Kind::Certificate) {
            return Err(Denied::NotAccepted);
        }
        let identity = self.tables.subjects.get(subject);
        identity
            .map(|identity| (Arc::clone(identity), None))
            .ok_or(Denied::UnknownSubject)
    }

    fn by_word(&self, tenant: &str) -> Answer {
        let (class, tags) = self.tables.by_word.as_ref().ok_or(Denied::NotAccepted)?;
        let identity = Identity {
            tags: tags.clone(),
            ..self.named(tenant, *class, Method::TrustedHeader)
        };
        Ok((Arc::new(identity), None))
    }

    fn named(&self, tenant: &str, class: Class, how: Method) -> Identity {
        Identity {
            tenant: tenant.into(),
            key: self.tables.tenant_keys.key(tenant),
            class,
            tags: Box::default(),
            until: None,
            how,
            limits: Limits::default(),
        }
    }
}

type Answer = Result<(Arc<Identity>, Option<Stamp>), Denied>;

/// What is refused by its looks is neither fingerprinted nor remembered.
fn worth_a_look(credential: &Credential<'_>) -> Result<(), Denied> {
    match credential {
        Credential::None => Err(Denied::Missing),
        _ if credential.text().len() > CREDENTIAL_BYTES_MAX => Err(Denied::TooLong),
        Credential::TrustedHeader(tenant) if !is_tenant(tenant) => Err(Denied::BadTenant),
        _ => Ok(()),
    }
}

fn boxed(texts: Vec<String>) -> Box<[Box<str>]> {
    texts.into_iter().map(String::into_boxed_str).collect()
}

/// Counts, no contents.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (identities, refusals) = self.remembered();
        f.debug_struct("Verifier")
            .field("identities", &identities)
            .field("refusals", &refusals)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
