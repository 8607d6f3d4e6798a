//! Who somebody turned out to be, and what the credential lets them do.

use std::sync::Arc;

use crate::limits::Limits;

/// Wall-clock time, in whole seconds since 1970: what tokens are dated in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixSeconds(pub u64);

impl UnixSeconds {
    pub(crate) fn plus(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds))
    }
}

/// A class of work, by its place in [`crate::Settings::classes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u16);

/// How somebody was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// By a key the settings hold the hash of.
    ApiKey,
    /// By a token that an issuer signed.
    Jwt,
    /// By a capability token of one of our root keys.
    Passport,
    /// By the subject of a client certificate.
    Certificate,
    /// By the word of a listed proxy.
    TrustedHeader,
}

impl Method {
    /// A stable name, for labels and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::ApiKey => "api-key",
            Self::Jwt => "jwt",
            Self::Passport => "passport",
            Self::Certificate => "certificate",
            Self::TrustedHeader => "trusted-header",
        }
    }
}

/// Somebody who was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Who pays.
    pub tenant: Arc<str>,
    /// The tenant as a number, for queues and quotas: the same for the same tenant and [`crate::Seed`].
    pub key: u64,
    /// Where its work waits.
    pub class: Class,
    /// What policy may ask for.
    pub tags: Box<[Box<str>]>,
    /// The first second in which it is no longer accepted.
    pub until: Option<UnixSeconds>,
    /// How it was recognised.
    pub how: Method,
    /// What each of its requests must keep to; nothing, but for passports.
    pub limits: Limits,
}

impl Identity {
    /// Whether policy finds `tag` on it.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| **own == *tag)
    }

    /// Memory it holds, for the bound of the cache.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.tags.iter().chain(self.limits.paths());
        let texts: usize = texts.map(|text| text.len() + size_of::<Box<str>>()).sum();
        size_of::<Self>() + self.tenant.len() + texts
    }
}
