//! Which credentials are good here.

use thiserror::Error;

use crate::api_key::KeyHash;
use crate::capability::RootKey;
use crate::keys::Algorithm;

/// Everything a verifier knows; the default accepts nobody.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Names of the classes, in the order of the queue's: an identity's class is a place in this list.
    pub classes: Vec<String>,
    /// API keys; a tenant may have several, so that one can replace another.
    pub api_keys: Vec<ApiKeySetting>,
    /// Those whose tokens are good.
    pub issuers: Vec<Issuer>,
    /// Keys of passports.
    pub roots: Vec<Root>,
    /// Subjects of client certificates.
    pub subjects: Vec<Subject>,
    /// What tenants named by a trusted hop get; `None` accepts none.
    pub trusted_header: Option<Standing>,
    /// How many identities are remembered.
    pub cache_entries: CacheEntries,
}

/// How many identities are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheEntries(pub usize);

impl CacheEntries {
    pub(crate) const MAX: usize = 1 << 22;
}

impl Default for CacheEntries {
    fn default() -> Self {
        Self(65_536)
    }
}

/// What somebody gets whose credential does not say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// One of [`Settings::classes`].
    pub class: String,
    /// For policy.
    pub tags: Vec<String>,
}

/// An API key, known by its hash.
#[derive(Clone, Debug)]
pub struct ApiKeySetting {
    /// As `macronode key new` prints it.
    pub hash: KeyHash,
    /// Whose it is.
    pub tenant: String,
    /// What it gives.
    pub standing: Standing,
    /// When it ends, if it does.
    pub until: Option<crate::UnixSeconds>,
}

/// A client certificate's subject.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The SAN or CN as the listener takes it from the certificate, compared byte by byte.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
    /// What it gives.
    pub standing: Standing,
}

/// A root key of passports.
#[derive(Clone, Debug)]
pub struct Root {
    /// The key.
    pub key: RootKey,
    /// The class of passports that were granted none.
    pub class: String,
}

/// An issuer, by its place in [`Settings::issuers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IssuerId(pub u16);

/// For whom tokens must be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Anybody, which is safe only for an issuer that signs for nobody else.
    Anybody,
    /// One of these is among the token's `aud`.
    OneOf(Vec<String>),
}

/// One whose signed tokens are good.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// Equal to the claim `iss`.
    pub iss: String,
    /// For whom.
    pub audience: Audience,
    /// By which algorithms it signs.
    pub algorithms: Vec<Algorithm>,
    /// How far its clock may be off.
    pub leeway_s: u64,
    /// The claim that is the tenant's id: a name, or a JSON pointer that begins with a slash.
    pub tenant_claim: String,
    /// Put before the id, so that one issuer cannot name another's tenants.
    pub tenant_prefix: String,
    /// The claim whose values stand for classes.
    pub class_claim: Option<String>,
    /// Which value stands for which class; the first that the token has counts.
    pub classes: Vec<(String, String)>,
    /// The claim with tags: an array, or one text with blanks between.
    pub tags_claim: Option<String>,
    /// The class of a token that names none.
    pub class: String,
    /// Tags of all its tokens.
    pub tags: Vec<String>,
}

impl Issuer {
    /// With the usual settings: any asymmetric algorithm, a minute of leeway, the tenant in `sub`.
    pub fn new(iss: &str, audience: Audience, class: &str) -> Self {
        Self {
            iss: iss.to_owned(),
            audience,
            algorithms: Algorithm::ALL.to_vec(),
            leeway_s: 60,
            tenant_claim: "sub".to_owned(),
            tenant_prefix: String::new(),
            class_claim: None,
            classes: Vec::new(),
            tags_claim: None,
            class: class.to_owned(),
            tags: Vec::new(),
        }
    }
}

/// A mistake in the settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A class that is not listed.
    #[error("{of}: there is no class `{class}`")]
    UnknownClass {
        /// Whose.
        of: String,
        /// Which.
        class: String,
    },
    /// Not 1 to 128 visible ASCII characters.
    #[error("{of}: `{tenant}` cannot be a tenant id, which is 1 to 128 visible ASCII characters")]
    BadTenant {
        /// Whose.
        of: String,
        /// Which.
        tenant: String,
    },
    /// A tag or class that is empty, too long, or has blanks or commas; or too many tags.
    #[error(
        "{of}: `{name}` cannot be a tag or class: 1 to 128 visible ASCII characters, no comma, at most 64 tags"
    )]
    BadName {
        /// Whose.
        of: String,
        /// Which.
        name: String,
    },
    /// The same key, issuer, root key id, subject or class twice.
    #[error("{of} is listed twice")]
    Twice {
        /// Which.
        of: String,
    },
    /// An issuer without audiences or algorithms, or with a leeway of more than ten minutes.
    #[error("{of}: {what}")]
    Issuer {
        /// Which.
        of: String,
        /// What is wrong.
        what: &'static str,
    },
    /// Out of bounds.
    #[error("the cache holds 1 to 4194304 identities")]
    CacheEntries,
}
