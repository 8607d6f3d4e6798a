//! The `[edge]` section as it is written, and what in it contradicts itself.

use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::Report;

pub use bounds::{LimitsText, TimeoutsText};
pub use front_door::text::TlsText;
pub use origins::{CookiesText, LifetimeText, OriginText, QueryText, RangesText, RedirectsText};
pub use s3::S3Text;
pub use store::StoreText;

mod bounds;
mod check;
mod origins;
mod s3;
mod store;

pub(crate) use check::is_name;
pub(crate) use origins::OWN;

/// The edge.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct EdgeText {
    /// Where it listens for plain HTTP/1.1 and HTTP/2 with prior knowledge.
    #[schemars(
        length(max = 4),
        extend("x-reload" = "restart", "x-allowed" = "a list of IP:PORT, such as [\"0.0.0.0:8640\"]")
    )]
    pub listen: Vec<SocketAddr>,
    /// The TLS doors; absent: plain HTTP only.
    pub tls: Option<TlsText>,
    /// What clients call it, for the addresses in TileJSON; absent: the authority each of them asked.
    #[schemars(
        length(min = 1, max = 2048),
        extend("x-url" = true, "x-allowed" = "a URL without query, such as https://tiles.example.org")
    )]
    pub public_url: Option<String>,
    /// Packs by name; a file of 50,000 values has room for no more, `pack_dirs` have. Files that are replaced are taken
    /// over by themselves.
    #[schemars(length(max = 16_666))]
    pub packs: Vec<PackText>,
    /// Directories whose packs are all served, each by the name of its file. Followed as files come and go.
    #[schemars(length(max = 64), inner(length(min = 1, max = 4096)))]
    pub pack_dirs: Vec<String>,
    /// Origins whose answers are kept, each at a mount of its own.
    #[schemars(length(max = 1_000))]
    pub origins: Vec<OriginText>,
    /// How long others may keep what comes out of a pack before they ask again, in seconds.
    #[schemars(range(min = 0, max = 31_536_000))]
    pub max_age_s: u32,
    /// Bytes of ready answers kept in memory; half of them for origins, where there are some.
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64))]
    pub memory_bytes: u64,
    /// Where objects are kept; absent: in memory only.
    pub store: Option<StoreText>,
    /// Which pages may read answers.
    pub cors: CorsText,
    /// How much of anything there may be at once.
    pub limits: LimitsText,
    /// How long peers and disks may take.
    pub timeouts: TimeoutsText,
    /// One line per request.
    pub access_log: AccessLogText,
}

impl Default for EdgeText {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 8640))],
            tls: None,
            public_url: None,
            packs: Vec::new(),
            pack_dirs: Vec::new(),
            origins: Vec::new(),
            max_age_s: 300,
            memory_bytes: 256 * 1024 * 1024,
            store: None,
            cors: CorsText::default(),
            limits: LimitsText::default(),
            timeouts: TimeoutsText::default(),
            access_log: AccessLogText::default(),
        }
    }
}

/// A pack.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PackText {
    /// What it is called in addresses.
    #[schemars(
        length(min = 1, max = 128),
        extend("x-allowed" = "letters, digits, `.`, `_` and `-`, not beginning with a dot")
    )]
    pub name: String,
    /// Its file, PMTiles or MBTiles.
    #[schemars(length(min = 1, max = 4096))]
    pub path: String,
}

/// Which pages of other origins may read answers.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct CorsText {
    /// Their origins, or `*` for all; nothing here carries a cookie.
    #[schemars(
        length(max = 64),
        inner(length(min = 1, max = 512)),
        extend("x-allowed" = "[\"*\"], or origins such as [\"https://maps.example.org\"]")
    )]
    pub origins: Vec<String>,
    /// How long a browser may remember that it may ask, in seconds.
    #[schemars(range(min = 0, max = 86_400))]
    pub max_age_s: u32,
}

impl Default for CorsText {
    fn default() -> Self {
        Self {
            origins: vec!["*".to_owned()],
            max_age_s: 7_200,
        }
    }
}

/// One line per request, as JSON, through the bounded telemetry queue.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct AccessLogText {
    /// `off`, `refused` for what was refused or failed, `all`.
    pub level: AccessLevel,
}

impl Default for AccessLogText {
    fn default() -> Self {
        Self {
            level: AccessLevel::Refused,
        }
    }
}

/// Which requests are logged.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum AccessLevel {
    Off,
    #[default]
    Refused,
    All,
}

impl EdgeText {
    /// Bytes in memory for what comes out of packs, and for what comes from origins.
    pub(crate) fn memory(&self) -> (u64, u64) {
        match self.origins.is_empty() {
            true => (self.memory_bytes, 0),
            false => (self.memory_bytes / 2, self.memory_bytes / 2),
        }
    }

    /// The files whose contents it is followed by, besides certificates and packs, which are looked after already.
    pub fn files(&self) -> Vec<(String, PathBuf)> {
        let named = self.origins.iter().enumerate();
        named
            .filter_map(|(index, origin)| {
                let file = origin.ca.as_ref()?;
                Some((format!("origins[{index}].ca"), file.into()))
            })
            .collect()
    }

    /// Says everything that contradicts. Under amnesia nothing may ask for a disk to write to.
    pub fn contradictions(&self, amnesia: bool, report: &mut Report) {
        check::check(self, amnesia, report);
    }
}

#[cfg(test)]
mod tests;
