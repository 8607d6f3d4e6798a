//! Waiting for an origin: with others where what it says is for all, alone where it may not be.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::header::{self, HeaderMap};
use http::{Response, StatusCode};
use http_rules::cache::{Decision, Forwarded, Outcome, Variant};
use kernel::reject::Reject;

use crate::body::EdgeBody;
use crate::flight::{Arrival, Course, Fill, Flight, Waiting};
use crate::reject::Refusal;

use super::entry::{Entry, Head};
use super::failure::Failure;
use super::mount::Target;
use super::serve::{self, Saying};
use super::{Origins, Trip, heads};

impl Origins {
    /// Asks for it anew, without anybody waiting. Where there is no room for that it is left for the next request.
    pub(super) fn refresh(&self, trip: &Trip<'_>) {
        let course = (trip.target.key.clone(), trip.variant.clone());
        let (flight, is_new) = self.desk.board.join(&course);
        if is_new {
            let _no_room = self.see_off(trip, &flight, course);
        }
    }

    /// Waits for a fetch, one's own or another's. What another's brings may not be for us: then it is known by now
    /// for whom else it may be, and we wait with those who want the same, or go alone.
    pub(super) async fn fetch(&self, trip: &mut Trip<'_>) -> Result<Response<EdgeBody>, Refusal> {
        let sent = trip.sent();
        let private = sent.contains_key(header::AUTHORIZATION) || sent.contains_key(header::COOKIE);
        if !private && !trip.wish.no_store {
            let (before, arrived) = (trip.variant.clone(), self.together(trip).await);
            if let Some(answer) = arrived {
                return answer;
            }
            if let Some(answer) = self.look(trip).await {
                return answer;
            }
            if trip.variant != before
                && let Some(answer) = self.together(trip).await
            {
                return answer;
            }
        }
        let number = self.alone.fetch_add(1, Ordering::Relaxed);
        let alone = Variant::from_bytes(format!("alone {number}").into_bytes());
        let course = (trip.target.key.clone(), Some(alone));
        let (flight, _) = self.desk.board.join(&course);
        trip.alone = true;
        let arrived = self.ride(trip, &flight, course, true).await;
        arrived.unwrap_or(Err(Refusal::Internal))
    }

    /// Joins who is under way for the same, or sets out for all who will come.
    async fn together(&self, trip: &Trip<'_>) -> Option<Result<Response<EdgeBody>, Refusal>> {
        let course = (trip.target.key.clone(), trip.variant.clone());
        let (flight, is_new) = self.desk.board.join(&course);
        self.ride(trip, &flight, course, is_new).await
    }

    /// Waits on a flight for what it brings; nothing if that is not for this request.
    pub(super) async fn ride(
        &self,
        trip: &Trip<'_>,
        flight: &Arc<Flight>,
        course: Course,
        is_own: bool,
    ) -> Option<Result<Response<EdgeBody>, Refusal>> {
        // Whoever is to see it off is never one too many: else nobody would.
        let most = match is_own {
            true => u32::MAX,
            false => trip.target.settings().waiters,
        };
        let Some(waiting) = flight.wait(most) else {
            return Some(self.stand_in(trip, Failure::Waiters, None, None));
        };
        if is_own && let Err(failure) = self.see_off(trip, flight, course) {
            return Some(self.stand_in(trip, failure, None, None));
        }
        let counter = match is_own {
            true => &self.desk.metrics.miss,
            false => &self.desk.metrics.collapsed,
        };
        counter.inc();
        let patience = patience(trip.target);
        let Ok(arrival) = tokio::time::timeout(patience, waiting.arrival()).await else {
            return Some(self.or_stale(trip, Failure::Late));
        };
        match arrival {
            // What came out of the depot may stand in, once it has been looked at.
            Arrival::Failed(_) if flight.has_brought() && trip.stale.is_none() => None,
            Arrival::Failed(failure) => Some(self.or_stale(trip, failure)),
            Arrival::Brought(entry) => self.brought(trip, &entry),
            Arrival::Whole(entry) => self.deliver(trip, flight, &entry, is_own),
            Arrival::Coming(head, _) if is_worse(trip, &head) => Some(self.worse(trip, &head)),
            Arrival::Coming(head, _) if !is_own && !self.is_for(trip, flight, &head) => None,
            Arrival::Coming(head, reader) if !serve::wants_less(trip.parts) => {
                let own = is_own.then(|| flight.own_headers()).flatten();
                let saying = self.fetched(trip, &head, own, !is_own);
                Some(Ok(serve::coming(&head, reader, &saying)))
            }
            Arrival::Coming(..) => self.rest(trip, flight, &waiting, is_own).await,
        }
    }

    /// What came out of the depot, if this request may have it as it is.
    fn brought(
        &self,
        trip: &Trip<'_>,
        entry: &Entry,
    ) -> Option<Result<Response<EdgeBody>, Refusal>> {
        let policy = entry.head.policy.as_ref().ok()?;
        match policy.decide(&trip.wish, self.desk.clock.now_ms()) {
            Decision::Fresh { age_s, ttl_s } if entry.head.answers(trip.sent()) => {
                Some(self.hit(trip, entry, age_s, ttl_s, Some("bucket")))
            }
            _ => None,
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

    /// Whether what was fetched for another is for this request too.
    fn is_for(&self, trip: &Trip<'_>, flight: &Flight, head: &Head) -> bool {
        let same = flight.is_asked_with(trip.sent());
        head.is_for(trip.sent(), same, self.desk.clock.now_ms())
    }

    fn deliver(
        &self,
        trip: &Trip<'_>,
        flight: &Flight,
        entry: &Arc<Entry>,
        is_own: bool,
    ) -> Option<Result<Response<EdgeBody>, Refusal>> {
        let head = &entry.head;
        if is_worse(trip, head) {
            return Some(self.worse(trip, head));
        }
        if !is_own && !self.is_for(trip, flight, head) {
            return None;
        }
        let own = is_own.then(|| flight.own_headers()).flatten();
        let saying = self.fetched(trip, head, own, !is_own);
        Some(serve::entry(trip.parts, entry, &saying))
    }

    fn fetched(
        &self,
        trip: &Trip<'_>,
        head: &Head,
        own: Option<HeaderMap>,
        collapsed: bool,
    ) -> Saying {
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
        let asked = !matches!(failure, Failure::Open(_));
        self.stand_in(trip, failure, asked.then_some(trip.why), None)
    }

    /// What is kept in place of an error that came.
    fn worse(&self, trip: &Trip<'_>, head: &Head) -> Result<Response<EdgeBody>, Refusal> {
        let (why, status) = (Some(trip.why), Some(head.origin_status));
        self.stand_in(trip, Failure::Broken, why, status)
    }

    /// The same, with why the origin was asked and what it said. Only if it was not even asked is that a hit
    /// (RFC 9211 2.1).
    fn stand_in(
        &self,
        trip: &Trip<'_>,
        failure: Failure,
        forwarded: Option<Forwarded>,
        origin_status: Option<StatusCode>,
    ) -> Result<Response<EdgeBody>, Refusal> {
        let stale = trip
            .stale
            .as_ref()
            .filter(|_| trip.if_error && failure.may_be_stood_in_for());
        let Some(entry) = stale else {
            return Err(failure.into());
        };
        let now_ms = self.desk.clock.now_ms();
        let policy = entry.head.policy.as_ref();
        let (age_s, ttl_s) = policy.map_or((0, 0), |policy| {
            (policy.age_s(now_ms), policy.ttl_s(now_ms))
        });
        self.desk.metrics.stale.inc();
        let outcome = Outcome {
            forwarded,
            origin_status,
            ttl_s: Some(ttl_s),
            detail: Some(failure.reason()),
            ..Outcome::default()
        };
        self.kept(trip, entry, age_s, outcome)
    }

    /// Hands the work of a flight to the workers.
    fn see_off(
        &self,
        trip: &Trip<'_>,
        flight: &Arc<Flight>,
        course: Course,
    ) -> Result<(), Failure> {
        let mut asked = trip.sent().clone();
        for name in [header::CACHE_CONTROL, heads::CDN_LOOP] {
            asked.remove(&name);
            for line in trip.parts.headers.get_all(&name) {
                asked.append(&name, line.clone());
            }
        }
        let fill = Fill {
            desk: self.desk.clone(),
            flight: flight.clone(),
            course,
            target: trip.target.clone(),
            sent: trip.sent().clone(),
            asked,
            stale: trip.stale.clone(),
            alone: trip.alone,
        };
        flight.set_out(trip.sent());
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

/// Whether what came is an error, and what is kept may stand in for it (RFC 5861 4).
fn is_worse(trip: &Trip<'_>, head: &Head) -> bool {
    trip.if_error && matches!(head.origin_status.as_u16(), 500 | 502..=504)
}

/// How long somebody waits at most: for every try, and for a turn among the workers.
fn patience(target: &Target) -> Duration {
    let settings = target.settings();
    settings.fill * (settings.tries + 1)
}
