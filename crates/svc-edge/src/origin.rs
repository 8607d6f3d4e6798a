//! Cached origins: a request gets what is kept, or waits with others for one fetch, or is passed on.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::request::Parts;
use http::{Method, Response};
use http_body::Body;
use http_rules::cache::{Decision, Forwarded, Outcome, Variant, Wish};
use kernel::pool::PoolHandle;
use kernel::reject::Reject;
use upstream::BoxError;

use crate::body::EdgeBody;
use crate::flight::{Arrival, Desk, Fill, Filling, Flight, Waiting};
use crate::reject::Refusal;

use entry::Entry;
use failure::Failure;
use mount::{Mount, Target};
use serve::Saying;

mod build;
pub(crate) mod clock;
pub(crate) mod entry;
pub(crate) mod failure;
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
    sent: HeaderMap,
    wish: Wish,
    why: Forwarded,
    /// What is kept, to be asked about.
    stale: Option<Arc<Entry>>,
    /// Whether that may be given out if the origin fails.
    if_error: bool,
    /// The headers that decide whose answer it is, where they are known.
    variant: Option<Variant>,
}

impl Origins {
    /// Who answers a path, if it is an origin.
    pub(crate) fn find(&self, path: &str) -> Option<Arc<Mount>> {
        let mounts = self.mounts.load();
        mounts.iter().find(|mount| mount.behind(path).is_some()).cloned()
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

    async fn route<B>(&self, mount: &Arc<Mount>, parts: &Parts, body: B) -> Result<Response<EdgeBody>, Refusal>
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
        let asks_part = target.settings().passes_ranges && parts.headers.contains_key(header::RANGE);
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
        let mut trip = Trip {
            target,
            parts,
            sent: settings.forward.of(&parts.headers),
            wish,
            why: Forwarded::UriMiss,
            stale: None,
            if_error: false,
            variant: None,
        };
        if let Some(answer) = self.look(&mut trip).await {
            return answer;
        }
        if trip.wish.only_if_cached {
            return Err(Failure::NotKept.into());
        }
        self.fetch(&trip).await
    }

    /// Looks at what is kept. What cannot be given out is noted for the trip.
    async fn look(&self, trip: &mut Trip<'_>) -> Option<Result<Response<EdgeBody>, Refusal>> {
        let resource = match self.desk.kept.get(&trip.target.key) {
            Some(resource) => resource,
            None => self.bring_back(&trip.target.key).await?,
        };
        trip.variant = resource.varies().map(|varies| varies.select(&trip.sent));
        let Some(entry) = resource.select(&trip.sent) else {
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
            Decision::Validate { was_fresh, if_error } => {
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
    async fn bring_back(&self, key: &Arc<str>) -> Option<Arc<entry::Resource>> {
        let (resource, removals) = self.desk.shelf.find(key).await?;
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
        let saying = Saying {
            outcome: Outcome {
                ttl_s: Some(ttl_s),
                detail,
                ..Outcome::default()
            },
            age_s: Some(age_s),
            own: None,
            now: self.desk.clock.now_ms() / 1000,
        };
        serve::entry(trip.parts, entry, &saying)
    }

    /// Asks for it anew, without anybody waiting. Where there is no room for that it is left for the next request.
    fn refresh(&self, trip: &Trip<'_>) {
        let course = (trip.target.key.clone(), trip.variant.clone());
        let (flight, is_new) = self.desk.board.join(&course);
        if is_new {
            let _no_room = self.see_off(trip, &flight, course);
        }
    }

    /// Waits for a fetch, one's own or another's. What another's brings may not be for us: then we go alone.
    async fn fetch(&self, trip: &Trip<'_>) -> Result<Response<EdgeBody>, Refusal> {
        let private = trip.sent.contains_key(header::AUTHORIZATION) || trip.sent.contains_key(header::COOKIE);
        if !private && !trip.wish.no_store {
            let course = (trip.target.key.clone(), trip.variant.clone());
            let (flight, is_new) = self.desk.board.join(&course);
            let arrived = self.ride(trip, &flight, course, is_new).await;
            if let Some(answer) = arrived {
                return answer;
            }
        }
        let number = self.alone.fetch_add(1, Ordering::Relaxed);
        let alone = Variant::from_bytes(format!("alone {number}").into_bytes());
        let course = (trip.target.key.clone(), Some(alone));
        let (flight, _) = self.desk.board.join(&course);
        let arrived = self.ride(trip, &flight, course, true).await;
        arrived.unwrap_or(Err(Refusal::Internal))
    }

    /// Waits on a flight for what it brings; nothing if that is not for this request.
    async fn ride(
        &self,
        trip: &Trip<'_>,
        flight: &Arc<Flight>,
        course: (Arc<str>, Option<Variant>),
        is_own: bool,
    ) -> Option<Result<Response<EdgeBody>, Refusal>> {
        let Some(waiting) = flight.wait(trip.target.settings().waiters) else {
            return Some(Err(Failure::Waiters.into()));
        };
        if is_own && let Err(failure) = self.see_off(trip, flight, course) {
            return Some(self.or_stale(trip, failure));
        }
        let counter = match is_own {
            true => &self.desk.metrics.miss,
            false => &self.desk.metrics.collapsed,
        };
        counter.inc();
        match waiting.arrival().await {
            Arrival::Failed(failure) => Some(self.or_stale(trip, failure)),
            Arrival::Whole(entry) => self.deliver(trip, flight, &entry, is_own),
            Arrival::Coming(head, _) if !is_own && !head.is_for(&trip.sent) => None,
            Arrival::Coming(head, reader) if !serve::wants_less(trip.parts) => {
                let own = is_own.then(|| flight.own_headers()).flatten();
                let saying = self.fetched(trip, &head, own, !is_own);
                Some(Ok(serve::coming(&head, reader, &saying)))
            }
            Arrival::Coming(..) => self.rest(trip, flight, &waiting, is_own).await,
        }
    }

    /// Waits for the whole of what is coming, for who wants a part of it.
    async fn rest(
        &self,
        trip: &Trip<'_>,
        flight: &Flight,
        waiting: &Waiting,
        is_own: bool,
    ) -> Option<Result<Response<EdgeBody>, Refusal>> {
        match waiting.whole().await {
            Ok(entry) => self.deliver(trip, flight, &entry, is_own),
            Err(failure) => Some(self.or_stale(trip, failure)),
        }
    }

    fn deliver(
        &self,
        trip: &Trip<'_>,
        flight: &Flight,
        entry: &Arc<Entry>,
        is_own: bool,
    ) -> Option<Result<Response<EdgeBody>, Refusal>> {
        let head = &entry.head;
        if !is_own && !head.is_for(&trip.sent) {
            return None;
        }
        if matches!(head.origin_status.as_u16(), 500 | 502..=504) && trip.if_error {
            return Some(self.or_stale(trip, Failure::Broken));
        }
        let own = is_own.then(|| flight.own_headers()).flatten();
        let saying = self.fetched(trip, head, own, !is_own);
        Some(serve::entry(trip.parts, entry, &saying))
    }

    fn fetched(&self, trip: &Trip<'_>, head: &entry::Head, own: Option<HeaderMap>, collapsed: bool) -> Saying {
        let now_ms = self.desk.clock.now_ms();
        Saying {
            outcome: Outcome {
                forwarded: Some(trip.why),
                origin_status: Some(head.origin_status),
                ttl_s: head.policy.as_ref().ok().map(|policy| policy.ttl_s(now_ms)),
                stored: head.policy.is_ok(),
                collapsed,
                detail: head.policy.as_ref().err().map(|why| why.reason()),
            },
            age_s: None,
            own,
            now: now_ms / 1000,
        }
    }

    /// What is kept in place of what could not be had, where that is allowed.
    fn or_stale(&self, trip: &Trip<'_>, failure: Failure) -> Result<Response<EdgeBody>, Refusal> {
        let stale = trip.stale.as_ref().filter(|_| trip.if_error && failure.is_origins());
        let Some(entry) = stale else {
            return Err(failure.into());
        };
        let now_ms = self.desk.clock.now_ms();
        let policy = entry.head.policy.as_ref();
        let (age_s, ttl_s) = policy.map_or((0, 0), |policy| (policy.age_s(now_ms), policy.ttl_s(now_ms)));
        self.desk.metrics.stale.inc();
        self.hit(trip, entry, age_s, ttl_s, Some(failure.reason()))
    }

    /// Hands the work of a flight to the workers.
    fn see_off(
        &self,
        trip: &Trip<'_>,
        flight: &Arc<Flight>,
        course: (Arc<str>, Option<Variant>),
    ) -> Result<(), Failure> {
        let mut asked = trip.sent.clone();
        if let Some(control) = trip.parts.headers.get(header::CACHE_CONTROL) {
            asked.insert(header::CACHE_CONTROL, control.clone());
        }
        let fill = Fill {
            desk: self.desk.clone(),
            flight: flight.clone(),
            course,
            target: trip.target.clone(),
            sent: trip.sent.clone(),
            asked,
            stale: trip.stale.clone(),
        };
        let workers = self.workers.get().ok_or(Failure::GivenUp)?;
        match workers.submit(fill) {
            Ok(ticket) => {
                flight.keep(ticket);
                Ok(())
            }
            Err(Reject::Busy) => Err(Failure::Queue),
            Err(_) => Err(Failure::GivenUp),
        }
    }
}

#[cfg(test)]
mod tests;
