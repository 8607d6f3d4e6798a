//! How callers show who they are, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::Secret;

use super::ClassName;

/// How callers show who they are.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct IdentityText {
    /// Whether a caller must show who it is, unless the route says otherwise.
    pub required: bool,
    /// A header that names the tenant, believed from trusted hops only; from others it is removed.
    #[schemars(length(min = 1, max = 64))]
    pub tenant_header: Option<String>,
    /// The header of API keys, `x-api-key` unless set. Without `keys` it is the upstream's and passed on.
    #[schemars(length(min = 1, max = 64))]
    pub key_header: Option<String>,
    /// API keys, by their hashes (`macronode key new` makes one). A file of 1 MiB has room for no more.
    #[schemars(length(max = 11_000))]
    pub keys: Vec<ApiKeyText>,
    /// Tokens of an identity provider. They may be used from a minute before `nbf` until a minute after `exp`: clocks
    /// differ.
    pub jwt: Option<JwtText>,
    /// Capability tokens of our own.
    pub passport: Option<PassportText>,
    /// Whose client certificates are whose. A file of 50,000 values has room for no more.
    #[schemars(length(max = 16_666))]
    pub certificates: Vec<SubjectText>,
}

impl IdentityText {
    /// Whether there is any way to show who one is.
    pub(crate) fn has_means(&self) -> bool {
        !self.keys.is_empty()
            || !self.certificates.is_empty()
            || self.jwt.is_some()
            || self.passport.is_some()
            || self.tenant_header.is_some()
    }
}

/// Whose client certificate it is.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SubjectText {
    /// The first DNS name it is made out to (SAN), else its first URI; of one without either the whole subject, as RFC
    /// 4514 writes it: `CN=billing,O=Example`, with `2.5.4.5=#130137` for a part of a kind that has no name there.
    #[schemars(length(min = 1, max = 255))]
    pub subject: String,
    /// The tenant.
    #[schemars(length(min = 1, max = 128))]
    pub tenant: String,
    /// What policy rules may ask for.
    #[serde(default)]
    #[schemars(length(max = 32), inner(length(min = 1, max = 64)))]
    pub tags: Vec<String>,
}

/// One API key.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ApiKeyText {
    /// Whose it is.
    #[schemars(length(min = 1, max = 128))]
    pub tenant: String,
    /// `blake3:` and 64 hexadecimal digits.
    #[schemars(length(min = 71, max = 71))]
    pub hash: String,
    /// What policy rules may ask for.
    #[serde(default)]
    #[schemars(length(max = 32), inner(length(min = 1, max = 64)))]
    pub tags: Vec<String>,
}

/// Tokens of an identity provider.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct JwtText {
    /// What `iss` must say.
    #[schemars(length(min = 1, max = 1024))]
    pub issuer: String,
    /// What `aud` must name.
    #[schemars(length(min = 1, max = 1024))]
    pub audience: String,
    /// Where the keys are fetched, over and over, in the background.
    #[serde(default)]
    #[schemars(length(min = 1, max = 2048), extend("x-url" = true))]
    pub jwks_url: Option<String>,
    /// A file with the keys, instead of a URL.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    pub jwks_file: Option<String>,
    /// Seconds between two fetches.
    #[serde(default = "every")]
    #[schemars(range(min = 5, max = 86_400))]
    pub refresh_s: u64,
    /// The claim that names the tenant.
    #[serde(default = "subject")]
    #[schemars(length(min = 1, max = 128))]
    pub tenant_claim: String,
    /// The claim whose words become tags.
    #[serde(default)]
    #[schemars(length(min = 1, max = 128))]
    pub tags_claim: Option<String>,
}

fn every() -> u64 {
    300
}

fn subject() -> String {
    "sub".to_owned()
}

/// Capability tokens: whoever holds one may narrow it and pass it on.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PassportText {
    /// The root key they are made with: 64 hexadecimal digits.
    pub root_key: Secret,
    /// Name of the root key, which passports carry. There is one: those made with another are refused.
    #[serde(default = "root")]
    #[schemars(length(min = 1, max = 32))]
    pub key_id: String,
    /// Class of tenants that show one and are not listed in `tenants`.
    #[serde(default)]
    pub class: ClassName,
}

fn root() -> String {
    "1".to_owned()
}
