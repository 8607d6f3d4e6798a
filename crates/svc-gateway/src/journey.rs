//! What one request holds and leaves behind: its places, its times, its line in the log. Settled once, however it ends.

use std::sync::Arc;
use std::time::Duration;

use concurrency_gate::Outcome;
use front_door::Visit;
use http::request::Parts;
use http::{Method, Uri};
use http_rules::trace::TraceContext;
use upstream::Timing;

use crate::backend::{Backend, Kept};
use crate::caller::{Caller, Origin};
use crate::config::AccessLevel;
use crate::gates::GateLease;
use crate::heads::Heads;
use crate::intake::Verdict;
use crate::naming::{self, Id, Names};
use crate::plan::{Plan, Route};
use crate::reject::Refusal;
use crate::shared::Presence;
use crate::slots::Place;
use crate::streams::{Kind, Stream};

mod address;
pub(crate) mod line;
mod spans;
mod streams;

use spans::Spans;

/// One request on its way.
pub(crate) struct Journey {
    pub(crate) plan: Presence,
    pub(crate) began: Duration,
    /// When the clock was last read for it. Between two waits no time passes that would matter.
    pub(crate) seen: Duration,
    pub(crate) id: Id,
    /// A new trace, unless the caller has one.
    pub(crate) trace: Option<TraceContext>,
    /// The trace it belongs to, whoever began it.
    trace_id: u128,
    /// What a collector is told of it, where its trace is kept.
    spans: Option<Box<Spans>>,
    /// Where it came from: known before anything else of who asks.
    pub(crate) from: Origin,
    pub(crate) heads: Heads,
    pub(crate) route: Option<Arc<Route>>,
    pub(crate) caller: Option<Caller>,
    pub(crate) tries: u32,
    pub(crate) bytes: u64,
    /// Says what was wrong with a body that was sent as it came.
    verdict: Option<Arc<Verdict>>,
    asked: Option<(Method, Uri)>,
    backend: Option<Arc<Backend>>,
    place: Option<Place>,
    lease: Option<GateLease>,
    stream: Option<Stream>,
    kept: Option<Kept>,
    times: Times,
    status: u16,
    reason: &'static str,
    step: Step,
    /// What was charged for its place, once it has given it back; nothing for who never had one.
    paid: u64,
    settled: bool,
}

/// How long each part took.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    queue: Duration,
    /// When it began to wait for what it waits for.
    since: Duration,
    upstream: Duration,
    connect: Duration,
}

/// What it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing that is told apart.
    None,
    /// A place, at its upstream or of its route.
    Place,
    /// The head of an upstream's answer.
    Answer,
}

impl Journey {
    pub(crate) fn begin(plan: Arc<Plan>, request: &Parts, visit: &Visit) -> Box<Self> {
        let heads = Heads::of(request, &plan);
        let mut names = naming::name(&request.headers, heads);
        let recorder = plan.shared.recorder.as_ref();
        let spans = recorder.and_then(|recorder| Spans::begin(recorder, request, &mut names));
        let Names {
            id,
            trace,
            trace_id,
        } = names;
        let from = Origin::of(&plan, request, visit, heads);
        let began = plan.shared.timeline.now();
        let asked = || (request.method.clone(), request.uri.clone());
        let told = plan.access_log != AccessLevel::Off || spans.is_some();
        let asked = told.then(asked);
        let plan = Presence::begin(plan);
        Box::new(Self {
            began,
            seen: began,
            id,
            trace,
            trace_id,
            spans,
            from,
            heads,
            route: None,
            caller: None,
            tries: 0,
            bytes: 0,
            verdict: None,
            asked,
            backend: None,
            place: None,
            lease: None,
            stream: None,
            kept: None,
            times: Times::default(),
            status: 499,
            reason: "client-gone",
            step: Step::None,
            paid: 0,
            settled: false,
            plan,
        })
    }

    /// Reads the clock, after a wait.
    pub(crate) fn look(&mut self) -> Duration {
        self.seen = self.plan.shared.timeline.now();
        self.seen
    }

    /// It waits for a place from now on, which is when the clock was last read.
    pub(crate) fn waits(&mut self) {
        self.times.since = self.seen;
        self.step = Step::Place;
    }

    /// It has a place at an upstream.
    pub(crate) fn placed(&mut self, backend: &Arc<Backend>, place: Place, asked_at: Duration) {
        let queue = place.since.saturating_sub(asked_at);
        self.times.queue += queue;
        // Who found a free place did not wait; the two readings of the clock are not a wait.
        if queue > Duration::from_micros(50)
            && let Some(caller) = &self.caller
        {
            let waited = &self.plan.shared.metrics.waited[usize::from(caller.class.0)];
            waited.observe(queue.as_secs_f64());
            self.plan.shared.ledger.waited(caller);
        }
        self.seen = place.since;
        self.times.since = place.since;
        self.step = Step::None;
        self.place = Some(place);
        self.backend = Some(backend.clone());
    }

    /// It gives its place back as if it had never had it.
    pub(crate) fn steps_back(&mut self) {
        if let Some(place) = self.place.take() {
            place.unused();
        }
    }

    /// Its body is not here yet. Whoever waits for a client holds no place, which would stand empty, and counts as a
    /// stream of its tenant.
    pub(crate) fn waits_for_body(&mut self) -> Result<(), Refusal> {
        self.open_stream(Kind::Body)?;
        self.steps_back();
        if let Some(lease) = self.lease.take() {
            lease.ignore();
        }
        Ok(())
    }

    /// Its body is here: it may have a place again.
    pub(crate) fn has_body(&mut self) {
        self.stream = None;
        self.look();
    }

    pub(crate) fn gated(&mut self, lease: GateLease) {
        self.lease = Some(lease);
        self.step = Step::None;
    }

    /// An upstream is asked, once at least.
    pub(crate) fn sent(&mut self) {
        self.step = Step::Answer;
        self.tries = 1;
    }

    /// So long connections were being opened for tries that came to nothing.
    pub(crate) fn tried_in_vain(&mut self, connecting: Option<Duration>) {
        self.times.connect = connecting.unwrap_or_default();
    }

    /// The head of an answer is here.
    pub(crate) fn headed(&mut self, status: u16, timing: Timing) {
        self.status = status;
        self.reason = "";
        self.step = Step::None;
        self.times.connect += timing.connect.unwrap_or_default();
        self.seen = match timing.head_at {
            Some(instant) => self.plan.shared.timeline.at(instant),
            None => self.plan.shared.timeline.now(),
        };
        self.times.upstream = self.seen.saturating_sub(self.times.since);
        if self.tries > 1
            && let Some(place) = &mut self.place
        {
            place.earlier = self.times.upstream.saturating_sub(timing.first_byte);
        }
        if let Some(backend) = &self.backend {
            let took = self.times.upstream.as_secs_f64();
            backend.metrics.seconds.observe(took);
            backend.body.slots.heard();
        }
    }

    /// It is answered while its body is sent as it comes. The time in its place in which its client was waited for is
    /// not the upstream's.
    pub(crate) fn sends_on(&mut self, verdict: Arc<Verdict>) {
        if let Some(place) = &mut self.place {
            place.body = verdict.waited();
        }
        self.verdict = Some(verdict);
    }

    /// What was wrong with its body, if anything.
    pub(crate) fn spoiled(&self) -> Option<Refusal> {
        self.verdict.as_ref().and_then(|verdict| verdict.get())
    }

    /// It needed no upstream.
    pub(crate) fn answered_here(&mut self, status: u16) {
        self.status = status;
        self.reason = "";
        self.look();
        self.finish();
    }

    /// The deadline passed: where was it?
    pub(crate) fn too_late(&self) -> Refusal {
        match self.place {
            Some(_) => Refusal::DeadlineUpstream,
            None => Refusal::DeadlineInQueue,
        }
    }

    /// The answer's body has ended as it should, at the moment the clock was last read. An upstream's own error says
    /// nothing about how many requests it can do with, unless it is that there are too many, which has been heard;
    /// its breaker hears of it.
    pub(crate) fn finish(&mut self) {
        let worked_on = self.status < 500 && self.status != 429;
        self.settle(worked_on.then_some(Outcome::Success));
    }

    /// It ends here, for this reason, which is told in so many bytes.
    pub(crate) fn refused(&mut self, refusal: &Refusal, bytes: usize) {
        self.look();
        if self
            .asked
            .as_ref()
            .is_some_and(|(method, _)| method != Method::HEAD)
        {
            self.bytes = bytes as u64;
        }
        self.note_wait();
        self.status = refusal.status();
        self.reason = refusal.reason();
        self.note_refusal();
        let outcome = match refusal {
            // Less time than it usually takes, or than it is to have, says nothing about the upstream.
            Refusal::DeadlineUpstream if !self.had_its_time() => None,
            Refusal::DeadlineUpstream
            | Refusal::Unreachable
            | Refusal::ConnectTimeout
            | Refusal::UpstreamReset
            | Refusal::UpstreamGarbage
            | Refusal::UpstreamHead => Some(Outcome::Failure),
            _ => None,
        };
        self.settle(outcome);
    }

    /// The answer broke off after it had begun. The upstream failed, or nothing can be said of it.
    pub(crate) fn broke_off(&mut self, refusal: &Refusal, outcome: Option<Outcome>) {
        self.look();
        self.reason = refusal.reason();
        self.note_refusal();
        self.settle(outcome);
    }

    /// It ended while it waited: that is where its time went.
    fn note_wait(&mut self) {
        let waited = self.seen.saturating_sub(self.times.since);
        match self.step {
            Step::None => {}
            Step::Place => self.times.queue += waited,
            Step::Answer => self.times.upstream = waited,
        }
    }

    /// Whether an upstream may still be busy with it, though nobody waits for its answer.
    fn is_left_behind(&self) -> bool {
        let given_up = [
            Refusal::ClientGone.reason(),
            Refusal::DeadlineUpstream.reason(),
        ];
        self.step == Step::Answer && given_up.contains(&self.reason)
    }

    /// Whether it has held its place for as long as others do, and its caller waited as long as a route lets anybody.
    fn had_its_time(&self) -> bool {
        let (Some(place), Some(backend)) = (&self.place, &self.backend) else {
            return true;
        };
        let enough = self.route.as_ref().map(|route| route.enough());
        self.seen.saturating_sub(place.since) > backend.body.usual.get()
            && enough.is_none_or(|enough| self.seen.saturating_sub(self.began) >= enough)
    }

    fn note_refusal(&self) {
        let shared = &self.plan.shared;
        shared.metrics.rejected(self.reason);
        if let Some(caller) = &self.caller {
            shared.ledger.refused(caller, self.reason);
        }
    }

    fn give_back(&mut self, outcome: Option<Outcome>) {
        let now = self.seen;
        if let (Some(mut place), Some(backend)) = (self.place.take(), &self.backend) {
            let lasting = &backend.body;
            let held = now.saturating_sub(place.since);
            let usual = lasting.usual.get();
            let left_behind = self.is_left_behind();
            // What was given up would have taken longer still; the pauses between tries are not the upstream's.
            let slow = outcome.is_none()
                && left_behind
                && self.tries == 1
                && place.is_overdue(held) == Some(true);
            let outcome = outcome.or(slow.then_some(Outcome::Success));
            if outcome == Some(Outcome::Success) {
                lasting.usual.note(place.worked(held));
            }
            let route = self.route.as_ref();
            let (route, cost) = route.map_or((0, 1), |route| (route.index, route.cost));
            let hasty = outcome != Some(Outcome::Failure);
            let left = left_behind.then(|| place.aftermath(now, usual, hasty));
            match left.flatten() {
                // Who gives up what it has begun pays for it all the same.
                Some(left) => {
                    self.paid = place.bill(held + left, cost, lasting.usual.get());
                    self.plan.shared.linger(place, left);
                }
                None => {
                    let (usual, slots) = (lasting.usual.get(), &lasting.slots);
                    self.paid = slots.leave(place, outcome, route, cost, usual, now);
                }
            }
        }
        if let Some(lease) = self.lease.take() {
            match outcome {
                Some(Outcome::Success) => lease.success(now),
                Some(Outcome::Failure) => lease.failure(now),
                None => lease.ignore(),
            }
        }
    }

    fn settle(&mut self, outcome: Option<Outcome>) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        self.give_back(outcome);
        let took = self.seen.saturating_sub(self.began);
        if let Some(route) = &self.route {
            route.metrics.answered(self.status, took);
        }
        self.log(took);
        if let Some(spans) = &self.spans {
            self.record(spans);
        }
    }
}

/// Dropped on its way: the client left, or the node is ending.
impl Drop for Journey {
    fn drop(&mut self) {
        if !self.settled {
            if self.reason.is_empty() {
                self.reason = Refusal::ClientGone.reason();
            }
            self.look();
            self.note_wait();
            self.plan.shared.metrics.rejected(self.reason);
            self.settle(None);
        }
    }
}
