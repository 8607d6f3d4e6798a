//! Who is asking: API keys, JWT, capability tokens, and a bounded cache of what was verified.

mod api_key;
mod cache;
mod capability;
mod credential;
mod denied;
#[cfg(test)]
mod forge;
mod identity;
mod jwt;
mod keys;
mod limits;
mod secret;
mod settings;
mod tables;
mod tenant;
mod verifier;

pub use api_key::{API_KEY_PREFIX, ApiKey, BadKeyHash, KeyHash};
pub use capability::{
    CAVEATS_MAX, Caveat, Grant, PASSPORT_BYTES_MAX, PASSPORT_PREFIX, Passport, PassportError,
    RootKey,
};
pub use credential::{CREDENTIAL_BYTES_MAX, Credential, Offered, credential_of};
pub use denied::Denied;
pub use identity::{Class, Identity, Method, UnixSeconds};
pub use keys::{
    Algorithm, Freshness, KEY_SET_BYTES_MAX, KEY_SET_KEYS_MAX, KeySet, KeySetError, KeySetState,
    Refresh, UnknownAlgorithm,
};
pub use limits::{Beyond, Limits, Methods};
pub use secret::{Seed, random};
pub use settings::{
    ApiKeySetting, Audience, CacheEntries, Issuer, IssuerId, Root, Settings, SettingsError,
    Standing, Subject,
};
pub use tenant::{TAG_BYTES_MAX, TAGS_MAX, TENANT_BYTES_MAX, is_tenant};
pub use verifier::Verifier;
