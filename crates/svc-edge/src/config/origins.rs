//! Cached origins, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use check::{OWN, check};

mod check;

/// An origin whose answers are kept, or several that are told apart by the first segment of the path.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct OriginText {
    /// What it is called in views and purges.
    #[schemars(
        length(min = 1, max = 64),
        extend("x-allowed" = "letters, digits, `.`, `_` and `-`, not beginning with a dot")
    )]
    pub name: String,
    /// The beginning of the paths it answers; the rest of a path is asked of it.
    #[schemars(length(min = 1, max = 512), extend("x-allowed" = "a path such as /osm"))]
    pub mount: String,
    /// Where it is: this host and no other.
    #[serde(default)]
    #[schemars(
        length(min = 1, max = 2048),
        extend("x-url" = true, "x-allowed" = "https://host or http://host, with a port if it has one")
    )]
    pub to: Option<String>,
    /// Hosts that may be asked for as the first segment after the mount, each exactly as written; in place of `to`.
    #[serde(default)]
    #[schemars(length(max = 1_000), inner(length(min = 1, max = 2048)), extend("x-url" = true))]
    pub hosts: Vec<String>,
    /// Put before the path that is asked for.
    #[serde(default)]
    #[schemars(length(max = 512), extend("x-allowed" = "empty, or a path such as /v1"))]
    pub path: String,
    /// Networks in which it may be although they are not public, such as 10.1.0.0/16.
    #[serde(default)]
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    pub private_networks: Vec<String>,
    /// PEM file of the certificates it must be signed by; absent: the system's.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    pub ca: Option<String>,
    /// Headers of clients that it is sent; `*` for all that are not about the connection. Others cannot change an
    /// answer that is kept for all.
    #[serde(default = "forward")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    pub forward: Vec<String>,
    /// What a query is: a part of what is asked for, nothing, or refused.
    #[serde(default)]
    pub query: QueryText,
    /// What becomes of answers that set cookies.
    #[serde(default)]
    pub cookies: CookiesText,
    /// What becomes of answers that point elsewhere.
    #[serde(default)]
    pub redirects: RedirectsText,
    /// Whether a range of what is not kept is asked for as such, or the whole is fetched and kept.
    #[serde(default)]
    pub ranges: RangesText,
    /// Whether requests that may change something are passed on. What they change is forgotten.
    #[serde(default = "yes")]
    pub writes: bool,
    /// Whether what clients say about freshness counts.
    #[serde(default = "yes")]
    pub clients_decide: bool,
    /// Headers that speak to this cache in place of `Cache-Control`, the closest first.
    #[serde(default = "targets")]
    #[schemars(length(max = 8), inner(length(min = 1, max = 64)))]
    pub targets: Vec<String>,
    /// Headers that name the tags by which answers can be purged.
    #[serde(default = "tags")]
    #[schemars(length(max = 8), inner(length(min = 1, max = 64)))]
    pub tags: Vec<String>,
    /// How long answers of a status are fresh, where the origin says nothing or in spite of it.
    #[serde(default = "lifetimes")]
    #[schemars(length(max = 64))]
    pub lifetimes: Vec<LifetimeText>,
    /// How far into the future a guess may go where nothing at all is said, in seconds.
    #[serde(default = "day")]
    #[schemars(range(min = 0, max = 31_536_000))]
    pub heuristic_max_s: u64,
    /// How long an answer that is past its time is given out while it is asked for anew, where the origin says
    /// nothing, in seconds.
    #[serde(default)]
    #[schemars(range(min = 0, max = 31_536_000))]
    pub stale_while_revalidate_s: u64,
    /// How long an answer that is past its time is given out when the origin fails, where the origin says nothing, in
    /// seconds.
    #[serde(default = "minute")]
    #[schemars(range(min = 0, max = 31_536_000))]
    pub stale_if_error_s: u64,
    /// Bytes of one answer; a longer one is refused.
    #[serde(default = "object_bytes")]
    #[schemars(range(min = 0, max = 1_073_741_824_u64))]
    pub object_bytes: u64,
    /// Answers kept for one address, where they depend on who asks.
    #[serde(default = "variants")]
    #[schemars(range(min = 1, max = 1_000))]
    pub variants: usize,
    /// Time for one try to fetch, in milliseconds.
    #[serde(default = "fill_ms")]
    #[schemars(range(min = 10, max = 600_000))]
    pub fill_ms: u64,
    /// Tries to fetch.
    #[serde(default = "tries")]
    #[schemars(range(min = 1, max = 10))]
    pub tries: u32,
    /// Requests that may wait for one fetch; more are turned away.
    #[serde(default = "waiters")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub waiters: u32,
}

impl OriginText {
    /// One origin at a mount, everything else by default.
    pub fn to(name: &str, mount: &str, to: &str) -> Self {
        Self {
            name: name.to_owned(),
            mount: mount.to_owned(),
            to: Some(to.to_owned()),
            hosts: Vec::new(),
            path: String::new(),
            private_networks: Vec::new(),
            ca: None,
            forward: forward(),
            query: QueryText::default(),
            cookies: CookiesText::default(),
            redirects: RedirectsText::default(),
            ranges: RangesText::default(),
            writes: true,
            clients_decide: true,
            targets: targets(),
            tags: tags(),
            lifetimes: lifetimes(),
            heuristic_max_s: day(),
            stale_while_revalidate_s: 0,
            stale_if_error_s: minute(),
            object_bytes: object_bytes(),
            variants: variants(),
            fill_ms: fill_ms(),
            tries: tries(),
            waiters: waiters(),
        }
    }
}

/// How long answers of a status are fresh.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug)]
#[serde(deny_unknown_fields)]
pub struct LifetimeText {
    /// The status.
    #[schemars(range(min = 200, max = 599))]
    pub status: u16,
    /// How long, in seconds.
    #[schemars(range(min = 0, max = 31_536_000))]
    pub seconds: u64,
    /// Even where the origin says otherwise. What it forbids to keep is not kept all the same.
    #[serde(default)]
    pub overrides: bool,
}

/// What a query is.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum QueryText {
    #[default]
    Keep,
    Drop,
    Refuse,
}

/// What becomes of answers that set cookies.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum CookiesText {
    #[default]
    Refuse,
    Strip,
    Keep,
}

/// What becomes of answers that point elsewhere.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum RedirectsText {
    #[default]
    Follow,
    Pass,
}

/// What is asked for where a range is wanted.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum RangesText {
    #[default]
    Whole,
    Pass,
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn forward() -> Vec<String> {
    texts(&["accept", "accept-encoding", "accept-language"])
}

fn targets() -> Vec<String> {
    texts(&["cdn-cache-control"])
}

fn tags() -> Vec<String> {
    texts(&["surrogate-key", "cache-tag"])
}

/// What is not there is asked for again after a while, not with every request.
fn lifetimes() -> Vec<LifetimeText> {
    let absent = |status| LifetimeText {
        status,
        seconds: 10,
        overrides: false,
    };
    vec![absent(404), absent(410)]
}

fn yes() -> bool {
    true
}

fn day() -> u64 {
    86_400
}

fn minute() -> u64 {
    60
}

fn object_bytes() -> u64 {
    1024 * 1024
}

fn variants() -> usize {
    16
}

fn fill_ms() -> u64 {
    5_000
}

fn tries() -> u32 {
    3
}

fn waiters() -> u32 {
    1_024
}
