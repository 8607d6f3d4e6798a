//! What the overlay does for who may operate the node: each is idempotent, and each is recorded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use svc_gateway::Override;

use super::desk::Desk;
use super::reject::Refusal;

/// The largest weight a config allows.
const WEIGHT_MAX: u32 = 1_000;
/// The largest limit a config allows.
const LIMIT_MAX: u32 = 1_000_000;
/// How long what is set by hand holds.
const UNTIL: &str = "the next config is in force";

/// What was asked of the node as a whole.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Requested {
    /// `requested`, or `draining` where the drain had begun before.
    pub(crate) state: &'static str,
}

/// What is to be forgotten: one of these.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub(crate) enum PurgeAsked {
    /// A path with its query, as clients ask for it.
    Url(String),
    /// The beginning of such paths.
    Prefix(String),
    /// A tag that origins have given their answers.
    Tag(String),
}

/// What was forgotten.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Purged {
    /// Of how many addresses something was.
    pub(crate) purged: u64,
}

/// Another weight.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WeightAsked {
    /// The weight.
    #[schemars(range(min = 1, max = 1_000))]
    pub(crate) weight: u32,
}

/// Another limit.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitAsked {
    /// How many may be inside at once.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) limit: u32,
}

/// What was set.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Set {
    /// What holds now, beside what the config says.
    #[serde(rename = "override")]
    pub(crate) set: Override,
    /// How long it holds.
    pub(crate) until: &'static str,
}

impl Desk {
    /// Asks for a reload.
    pub(crate) fn reload(&self) -> Requested {
        self.reload.request();
        Requested { state: "requested" }
    }

    /// Begins the drain, once.
    pub(crate) fn drain(&self) -> Requested {
        let first = self.kernel.requests.begin();
        let state = if first { "requested" } else { "draining" };
        Requested { state }
    }

    /// Forgets what the edge keeps.
    pub(crate) async fn purge(&self, asked: PurgeAsked) -> Result<Purged, Refusal> {
        let edge = self.edge.clone().ok_or(Refusal::ServiceOff)?;
        let purge = match asked {
            PurgeAsked::Url(path) => svc_edge::Purge::Url(whole(path)?),
            PurgeAsked::Prefix(path) => svc_edge::Purge::Prefix(whole(path)?),
            PurgeAsked::Tag(tag) if tag.is_empty() => {
                return Err(Refusal::BadBody("a tag has a name".to_owned()));
            }
            PurgeAsked::Tag(tag) => svc_edge::Purge::Tag(tag),
        };
        let purged = edge.forget(purge).await;
        Ok(Purged { purged })
    }

    /// Gives a tenant another weight.
    pub(crate) fn set_weight(&self, tenant: &str, asked: &WeightAsked) -> Result<Set, Refusal> {
        within("weight", asked.weight, WEIGHT_MAX)?;
        let gateway = self.gateway.as_ref().ok_or(Refusal::ServiceOff)?;
        let set = gateway.set_weight(tenant, asked.weight);
        let set = set.map_err(|_| Refusal::UnknownTenant)?;
        Ok(Set { set, until: UNTIL })
    }

    /// Gives a gate another limit.
    pub(crate) fn set_limit(&self, name: &str, asked: &LimitAsked) -> Result<Set, Refusal> {
        within("limit", asked.limit, LIMIT_MAX)?;
        if self.gateway.is_none() && self.transport.is_none() {
            return Err(Refusal::ServiceOff);
        }
        let gateway = self.gateway.as_ref();
        let of_route = gateway.and_then(|gateway| gateway.set_gate_limit(name, asked.limit).ok());
        let set = of_route.or_else(|| self.set_opcode_limit(name, asked.limit));
        let set = set.ok_or(Refusal::UnknownGate)?;
        Ok(Set { set, until: UNTIL })
    }
}

fn whole(path: String) -> Result<String, Refusal> {
    match path.starts_with('/') {
        true => Ok(path),
        false => Err(Refusal::BadBody("a path begins with a slash".to_owned())),
    }
}

fn within(what: &str, value: u32, max: u32) -> Result<(), Refusal> {
    match (1..=max).contains(&value) {
        true => Ok(()),
        false => Err(Refusal::BadBody(format!("{what} is 1 to {max}"))),
    }
}
