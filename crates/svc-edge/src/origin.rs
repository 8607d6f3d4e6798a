//! Cached origins: a request gets what is kept, or waits with others for one fetch, or is passed on.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::request::Parts;
use http::{Method, Response};
use http_body::Body;
use http_rules::cache::{Decision, Forwarded, Outcome, Variant, Wish};
use kernel::pool::PoolHandle;
use upstream::BoxError;

use crate::body::EdgeBody;
use crate::flight::{Desk, Filling};
use crate::reject::Refusal;

use entry::Entry;
use failure::Failure;
use mount::{Mount, Target};
use serve::Saying;

mod build;
pub(crate) mod clock;
pub(crate) mod depot;
pub(crate) mod entry;
pub(crate) mod failure;
mod fetch;
pub(crate) mod heads;
pub(crate) mod keeper;
pub(crate) mod kept;
pub(crate) mod metrics;
pub(crate) mod mount;
mod pass;
mod purge;
mod record;
mod serve;
pub(crate) mod shelf;

pub use purge::Purge;

/// All cached origins. Outlives configs.
pub(crate) struct Origins {
    pub(crate) desk: Arc<Desk>,
    /// The longest mounts first.
    mounts: ArcSwap<Vec<Arc<Mount>>>,
    workers: OnceLock<PoolHandle<Filling>>,
    /// For courses that nobody joins.
    alone: AtomicU64,
}

/// What is known of a request when it goes on its way to the origin.
struct Trip<'a> {
    target: &'a Target,
    parts: &'a Parts,
    sent: OnceLock<HeaderMap>,
    wish: Wish,
    why: Forwarded,
    /// What is kept, to be asked about.
    stale: Option<Arc<Entry>>,
    /// Whether that may be given out if the origin fails.
    if_error: bool,
    /// The headers that decide whose answer it is, where they are known.
    variant: Option<Variant>,
    /// Whether what comes of it is for this request only.
    alone: bool,
}

impl<'a> Trip<'a> {
    fn new(target: &'a Target, parts: &'a Parts, wish: Wish) -> Self {
        Self {
            target,
            parts,
            sent: OnceLock::new(),
            wish,
            why: Forwarded::UriMiss,
            stale: None,
            if_error: false,
            variant: None,
            alone: false,
        }
    }

    /// What the origin would get of the client's headers. Most hits never need to know.
    fn sent(&self) -> &HeaderMap {
        let forward = &self.target.settings().forward;
        self.sent.get_or_init(|| forward.of(&self.parts.headers))
    }
}

impl Origins {
    /// Who answers a path, if it is an origin.
    pub(crate) fn find(&self, path: &str) -> Option<Arc<Mount>> {
        let mounts = self.mounts.load();
        mounts
            .iter()
            .find(|mount| mount.behind(path).is_some())
            .cloned()
    }

    /// Lets these do the work.
    pub(crate) fn employ(&self, workers: PoolHandle<Filling>) {
        let _employed_before = self.workers.set(workers);
    }

    /// Answers a request for what is behind a mount.
    pub(crate) async fn answer<B>(
        &self,
        mount: &Arc<Mount>,
        parts: &Parts,
        body: B,
    ) -> Result<Response<EdgeBody>, Refusal>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let answer = self.route(mount, parts, body).await;
        match &answer {
            Ok(answer) => {
                let length = answer.body().size_hint().exact().unwrap_or(0);
                self.desk.metrics.given_bytes.inc_by(length);
            }
            Err(_) => {
                self.desk.metrics.refused.inc();
            }
        }
        answer
    }

    async fn route<B>(
        &self,
        mount: &Arc<Mount>,
        parts: &Parts,
        body: B,
    ) -> Result<Response<EdgeBody>, Refusal>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        if self.desk.node.has_passed(&parts.headers) {
            return Err(Failure::Loop.into());
        }
        let target = mount.target(&parts.uri)?;
        let reads = matches!(parts.method, Method::GET | Method::HEAD);
        if !reads && !target.settings().writes {
            return Err(Failure::ReadOnly.into());
        }
        let asks_part =
            target.settings().passes_ranges && parts.headers.contains_key(header::RANGE);
        match reads {
            false => self.pass(&target, parts, body, Forwarded::Method).await,
            true if asks_part && self.desk.kept.get(&target.key).is_none() => {
                self.pass(&target, parts, body, Forwarded::Bypass).await
            }
            true => self.read(&target, parts).await,
        }
    }

    async fn pass<B>(
        &self,
        target: &Target,
        parts: &Parts,
        body: B,
        why: Forwarded,
    ) -> Result<Response<EdgeBody>, Refusal>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let passed = pass::pass(&self.desk, target, parts, body, why).await;
        passed.map_err(Refusal::from)
    }

    /// What is kept, if it may be given out; else what the origin says.
    async fn read(&self, target: &Target, parts: &Parts) -> Result<Response<EdgeBody>, Refusal> {
        let settings = target.settings();
        let wish = match settings.rules.clients_decide {
            true => Wish::of(&parts.headers),
            false => Wish::default(),
        };
        let mut trip = Trip::new(target, parts, wish);
        if let Some(answer) = self.look(&mut trip).await {
            return answer;
        }
        if trip.wish.only_if_cached {
            return Err(Failure::NotKept.into());
        }
        self.fetch(&mut trip).await
    }

    /// Looks at what is kept. What cannot be given out is noted for the trip.
    async fn look(&self, trip: &mut Trip<'_>) -> Option<Result<Response<EdgeBody>, Refusal>> {
        let resource = match self.desk.kept.get(&trip.target.key) {
            Some(resource) => resource,
            None => self.bring_back(trip.target).await?,
        };
        let Some(entry) = resource.only().or_else(|| resource.select(trip.sent())) else {
            trip.variant = resource.varies().map(|varies| varies.select(trip.sent()));
            trip.why = Forwarded::VaryMiss;
            return None;
        };
        trip.variant = Some(entry.head.variant.clone());
        let policy = entry.head.policy.as_ref().ok()?;
        match policy.decide(&trip.wish, self.desk.clock.now_ms()) {
            Decision::Fresh { age_s, ttl_s } => {
                self.desk.metrics.hit.inc();
                Some(self.hit(trip, entry, age_s, ttl_s, None))
            }
            Decision::Refresh { age_s, ttl_s } => {
                self.desk.metrics.stale.inc();
                trip.stale = Some(entry.clone());
                self.refresh(trip);
                Some(self.hit(trip, entry, age_s, ttl_s, Some("refreshing")))
            }
            Decision::Validate {
                was_fresh,
                if_error,
            } => {
                trip.why = match was_fresh {
                    true => Forwarded::Request,
                    false => Forwarded::Stale,
                };
                trip.stale = Some(entry.clone());
                trip.if_error = if_error;
                None
            }
        }
    }

    /// What the disk has, taken into memory. What was forgotten in the meantime stays forgotten.
    async fn bring_back(&self, target: &Target) -> Option<Arc<entry::Resource>> {
        let (key, patience) = (&target.key, target.settings().fill);
        let (resource, removals) = self.desk.shelf.find(key, patience).await?;
        self.desk.kept.bring_back(key, &resource);
        if self.desk.shelf.removals() != removals {
            self.desk.kept.remove(key);
            return None;
        }
        Some(resource)
    }

    fn hit(
        &self,
        trip: &Trip<'_>,
        entry: &Entry,
        age_s: u64,
        ttl_s: i64,
        detail: Option<&'static str>,
    ) -> Result<Response<EdgeBody>, Refusal> {
        let outcome = Outcome {
            ttl_s: Some(ttl_s),
            detail,
            ..Outcome::default()
        };
        self.kept(trip, entry, age_s, outcome)
    }

    /// Gives out what is kept, with a word on how it came to that.
    fn kept(
        &self,
        trip: &Trip<'_>,
        entry: &Entry,
        age_s: u64,
        outcome: Outcome,
    ) -> Result<Response<EdgeBody>, Refusal> {
        let saying = Saying {
            outcome,
            age_s: Some(age_s),
            own: None,
            now: self.desk.clock.now_ms() / 1000,
        };
        serve::entry(trip.parts, entry, &saying)
    }
}

#[cfg(test)]
mod tests;
