//! Who may send what where, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rules, the first that matches decides; what no rule matches is denied.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyText {
    /// A TOML file with further `[[rules]]`, read after these. When it is missing or bad the config is refused. What is
    /// written into it is taken over by itself, and by a reload.
    #[schemars(length(min = 1, max = 4096))]
    pub file: Option<String>,
    /// The rules.
    #[schemars(length(max = 10_000))]
    pub rules: Vec<RuleText>,
}

/// One rule: every condition that is given must hold.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct RuleText {
    /// What happens to a request that matches.
    pub verdict: Verdict,
    /// Names of routes.
    #[serde(default)]
    #[schemars(length(max = 1_000), inner(length(min = 1, max = 64)))]
    pub routes: Vec<String>,
    /// Methods.
    #[serde(default)]
    #[schemars(length(max = 64), inner(length(min = 1, max = 32)))]
    pub methods: Vec<String>,
    /// Hosts; `*.example.com` means all below.
    #[serde(default)]
    #[schemars(length(max = 1_000), inner(length(min = 1, max = 255)))]
    pub hosts: Vec<String>,
    /// Tenants.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 1, max = 128)))]
    pub tenants: Vec<String>,
    /// Tags, of which the caller must have one.
    #[serde(default)]
    #[schemars(length(max = 1_000), inner(length(min = 1, max = 64)))]
    pub tags: Vec<String>,
    /// Bodies that say they are larger than this, or do not say how large they are. A coded body that its route decodes
    /// does not.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64))]
    pub body_over: Option<u64>,
}

/// What a rule says.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum Verdict {
    Allow,
    Deny,
}
