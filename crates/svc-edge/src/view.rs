//! The edge at one moment, as the admin server shows it: packs, store, origins, memory.

use std::sync::Arc;

use kernel::admin::Route as AdminRoute;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use verified_store::Standing;

use crate::edge::Edge;
use crate::origin::mount::Mount;
use crate::packs::{Entry, Mounted, Unready};

/// Where the admin server shows it.
pub static PAGE: AdminRoute = AdminRoute::reads(
    "/edge",
    "packs with why one cannot be served, the store, origins, and what is kept in memory; null where the edge is off",
    schema,
);

fn schema() -> serde_json::Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings
        .into_generator()
        .into_root_schema_for::<Option<EdgeView>>();
    schema.to_value()
}

/// The edge at one moment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EdgeView {
    /// Requests at once, until the last byte of their answers.
    pub inflight: u32,
    /// Requests that may be at once.
    pub inflight_limit: u32,
    /// Bytes of ready answers in memory.
    pub memory_bytes: u64,
    /// How many that may be.
    pub memory_limit: u64,
    /// Ready answers in memory.
    pub memory_items: usize,
    /// The store of objects.
    pub store: StoreView,
    /// What comes from origins.
    pub origins: OriginsView,
    /// The packs, by name.
    pub packs: Vec<PackView>,
}

/// What comes from origins.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OriginsView {
    /// Bytes of answers kept in memory.
    pub bytes: u64,
    /// Addresses of which something is kept there.
    pub kept: usize,
    /// Fetches under way.
    pub fetching: usize,
    /// Where they are mounted, the longest mounts first.
    pub mounts: Vec<MountView>,
}

/// An origin and its mount.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MountView {
    /// What the origin is called.
    pub origin: String,
    /// The beginning of the paths it answers.
    pub mount: String,
}

/// The store of objects.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StoreView {
    /// Its directory; absent where it is in memory only.
    pub dir: Option<String>,
    /// Why nothing can be stored: `full`, `read-only` or `failing`; absent while all is well.
    pub trouble: Option<&'static str>,
    /// Objects in it.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What they may have.
    pub limit: u64,
}

/// A pack.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PackView {
    /// Its name.
    pub pack: String,
    /// Its file.
    pub path: String,
    /// `ready` or `unready`.
    pub state: &'static str,
    /// Why it cannot be served.
    pub why: Option<String>,
    /// PMTiles or MBTiles.
    pub kind: Option<&'static str>,
    /// What its tiles are.
    pub tiles: Option<&'static str>,
    /// The smallest zoom with tiles.
    pub min_zoom: Option<u8>,
    /// The largest zoom with tiles.
    pub max_zoom: Option<u8>,
    /// Bytes of its file.
    pub bytes: Option<u64>,
}

impl Edge {
    /// The edge now. Walks over all packs: for people and their tools, not for each request.
    pub fn view(&self) -> EdgeView {
        let (plan, shared) = (self.plan(), &self.shared);
        let shelf = shared.catalogue.shelf();
        let mut packs: Vec<_> = shelf
            .packs
            .iter()
            .map(|(name, entry)| PackView::of(name, entry))
            .collect();
        packs.sort_unstable_by(|one, other| one.pack.cmp(&other.pack));
        EdgeView {
            inflight: shared.inflight(),
            inflight_limit: plan.text.limits.inflight,
            memory_bytes: shared.memory.bytes(),
            memory_limit: plan.text.memory_bytes,
            memory_items: shared.memory.count(),
            store: self.store_view(),
            origins: self.origins_view(),
            packs,
        }
    }
}

impl Edge {
    fn origins_view(&self) -> OriginsView {
        let origins = &self.shared.origins;
        let mount = |mount: &Arc<Mount>| MountView {
            origin: mount.name.to_string(),
            mount: mount.prefix.to_string(),
        };
        OriginsView {
            bytes: origins.desk.kept.bytes(),
            kept: origins.desk.kept.count(),
            fetching: origins.desk.board.count(),
            mounts: origins.mounts().iter().map(mount).collect(),
        }
    }

    fn store_view(&self) -> StoreView {
        let (text, store) = (self.plan().text.store.clone(), &self.shared.store);
        let (text, stats) = (text.unwrap_or_default(), store.stats());
        StoreView {
            dir: text.dir,
            trouble: match store.standing() {
                Standing::Good => None,
                Standing::Degraded { why } => Some(why.as_str()),
            },
            objects: stats.objects,
            bytes: stats.bytes,
            limit: text.bytes,
        }
    }
}

impl PackView {
    fn of(name: &str, entry: &Entry) -> Self {
        match entry {
            Entry::Ready(mounted) => Self::ready(mounted),
            Entry::Unready(unready) => Self::unready(name, unready),
        }
    }

    fn ready(mounted: &Mounted) -> Self {
        let about = mounted.pack.about();
        Self {
            pack: mounted.name.clone(),
            path: mounted.path.display().to_string(),
            state: "ready",
            why: None,
            kind: Some(about.kind.name()),
            tiles: Some(mounted.extension),
            min_zoom: Some(about.min_zoom),
            max_zoom: Some(about.max_zoom),
            bytes: Some(about.length),
        }
    }

    fn unready(name: &str, unready: &Unready) -> Self {
        Self {
            pack: name.to_owned(),
            path: unready.path.display().to_string(),
            state: "unready",
            why: Some(unready.why.clone()),
            kind: None,
            tiles: None,
            min_zoom: None,
            max_zoom: None,
            bytes: None,
        }
    }
}
