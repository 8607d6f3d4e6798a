//! The places of an upstream, handed out in fair order; how many there are is fixed, or found by itself.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use concurrency_gate::{Outcome, Sample};
use fair_queue::{Class, ClassSpec, FairQueue, Overflow, Refused, Settings, Slot, Snapshot, Work};
use kernel::clock::Timeline;
use kernel::lock::{Lock, LockSpec};

use crate::config::{ClassesText, OverflowText, QueueText};
pub(crate) use limit::Limit;
use limit::Search;
use pacer::Pacer;
use place::price_of;
pub(crate) use place::{Place, UNIT};
pub(crate) use promise::PROMISES;
use promise::{Promises, Refusal};
use reserve::Reserve;
use silence::Silence;
use tenants::{Asks, Claim, Tenants};

mod limit;
mod pacer;
mod place;
mod promise;
mod reserve;
mod silence;
mod tenants;

/// Guards what a limit is found from.
pub(crate) static ADAPTIVE: LockSpec = LockSpec {
    name: "gateway_adaptive",
    level: 60,
    doc: "what an upstream's limit is found from; each answer adds a sample",
};

/// What a client that was refused is told before anything is known of how fast places come free.
const UNMEASURED: Duration = Duration::from_secs(1);
/// Never sooner than this: a header counts in whole seconds, the body in milliseconds.
const SOONEST: Duration = Duration::from_millis(10);

/// Places are kept back from where this part of them is left: once others have them all it is too late.
const SOON_SHORT: usize = 4;
/// Who waited less than this found a place at once: two readings of the clock are not a wait.
const NO_WAIT: Duration = Duration::from_micros(200);
/// The part of the longest wait that may be expected: estimates are off, and who is told at once has lost nothing.
const HOPE: f64 = 0.6;
/// The same where it is known whose place it would be, and since when that is held.
const FORESIGHT: f64 = 0.95;
/// However long its turns, no more of a tenant wait without hope.
const LONGEST_TURN: u32 = 16;

/// The places of one upstream.
pub(crate) struct Slots {
    /// All places but those kept back.
    queue: FairQueue,
    /// All places.
    limit: AtomicU32,
    /// No more than this, whatever is configured or found.
    ceiling: AtomicU32,
    /// How many there were before they became fewer, until no more are in use than there are now.
    before: AtomicU32,
    search: Lock<Search>,
    tenants: Tenants,
    reserve: Reserve,
    silence: Silence,
    pacer: Pacer,
    promises: Promises,
    /// The weights of the classes.
    turns: [AtomicU32; 3],
    /// How long anybody waits for a place.
    longest_wait: Duration,
    timeline: Timeline,
}

impl Slots {
    pub(crate) fn new(
        limit: Limit,
        classes: &ClassesText,
        queue: &QueueText,
        timeline: Timeline,
    ) -> Arc<Self> {
        let class = |name: &str, weight| ClassSpec {
            name: name.to_owned(),
            weight,
        };
        let settings = Settings {
            classes: vec![
                class("anon", classes.anon),
                class("authed", classes.authed),
                class("internal", classes.internal),
            ],
            quantum: UNIT,
            max_cost: UNIT,
            max_items: queue.items,
            max_items_per_tenant: queue.per_tenant.min(queue.items),
            room_for_newcomers: true,
            overflow: match queue.overflow {
                OverflowText::RejectNew => Overflow::RejectNew,
                OverflowText::DropOldest => Overflow::DropOldest,
            },
            limit: limit.first() as usize,
        };
        let longest_wait = Duration::from_millis(queue.wait_ms);
        let places = FairQueue::new(settings, move || timeline.now());
        Arc::new(Self {
            queue: places.expect("the schema bounds weights, costs and limits"),
            limit: AtomicU32::new(limit.first()),
            ceiling: AtomicU32::new(u32::MAX),
            before: AtomicU32::new(0),
            search: Lock::new(&ADAPTIVE, Search::new(limit)),
            tenants: Tenants::new(),
            reserve: Reserve::default(),
            silence: Silence::default(),
            pacer: Pacer::default(),
            promises: Promises::new(Duration::from_millis(queue.retry_after_max_ms)),
            turns: [classes.anon, classes.authed, classes.internal].map(AtomicU32::new),
            longest_wait,
            timeline,
        })
    }

    /// A place, in fair order. What it cost is known, and settled, when it is given back; until then a tenant whose
    /// requests take long owes what they usually cost: or it would have taken all places before the first bill came.
    /// `usual` is how long one is held, `asked_at` when the clock was last read. Who finds a place has it from then on.
    /// Who has more to bring before it can be worked on has none of those that are kept back.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        work: Work,
        usual: Duration,
        asked_at: Duration,
        brings_more: bool,
    ) -> Result<Place, Refused> {
        let (tenants, weight) = (&self.tenants, self.weight(work));
        let asks = Asks {
            tenant: work.tenant,
            weight,
            cost: work.cost,
            at: asked_at,
            usual,
        };
        let claim = match tenants.ask(asks, self.limit()) {
            _ if brings_more => Claim::None,
            claim => claim,
        };
        let sparse = claim != Claim::None;
        let (in_use, limit) = (self.queue.in_use(), self.queue.limit());
        let short = in_use >= limit;
        if in_use <= limit {
            self.before.store(0, Ordering::Relaxed);
        }
        if in_use >= limit - limit / SOON_SHORT {
            self.keep_back();
        }
        if short {
            if sparse && self.take_kept_back() {
                return Ok(self.place(None, work, sparse, asked_at));
            }
            if !sparse && let Some(refused) = self.hopeless(work, asked_at) {
                return Err(refused);
            }
        }
        let until = asked_at + self.longest_wait;
        let until = work.deadline.map_or(until, |deadline| deadline.min(until));
        let waiting = short.then(|| {
            let held_up = (claim == Claim::Lasting).then(|| self.reserve.wait());
            (tenants.wait(work.tenant, weight), held_up)
        });
        let price = match short {
            true => tenants.hold_expected(work.tenant, asked_at),
            false => None,
        };
        let price = price.map_or(UNIT, |hold| price_of(hold, work.cost, usual));
        let work = work.cost(price.min(UNIT)).deadline(until);
        let mut acquire = pin!(self.queue.acquire_at(work, asked_at));
        let spared = || Box::pin(self.reserve.wait_for(|| self.take_kept_back()));
        let mut spared = (short && claim == Claim::Lasting).then(spared);
        let mut at_once = true;
        let slot = poll_fn(|cx| {
            let polled = acquire.as_mut().poll(cx);
            at_once &= polled.is_ready();
            match &mut spared {
                Some(spared) if polled.is_pending() => spared.as_mut().poll(cx).map(|()| None),
                _ => polled.map(Some),
            }
        });
        let Some(slot) = slot.await else {
            return Ok(self.place(None, work, sparse, self.timeline.now()));
        };
        let mut slot = slot?;
        if at_once {
            return Ok(self.place(Some(slot), work, sparse, asked_at));
        }
        drop(waiting);
        let mut now = self.timeline.now();
        // A turn pays for no more than one ordinary request; what is above that is owed.
        slot.expect(price);
        let waited = short && !sparse && now.saturating_sub(asked_at) > NO_WAIT;
        if waited && let Some(pause) = self.pacer.pause(now, usual, self.limit()) {
            tokio::time::sleep(pause).await;
            now = self.timeline.now();
        }
        Ok(self.place(Some(slot), work, sparse, now))
    }

    fn place(
        self: &Arc<Self>,
        slot: Option<Slot>,
        work: Work,
        sparse: bool,
        since: Duration,
    ) -> Place {
        let seat = self.tenants.begin(work.tenant, self.weight(work), since);
        if sparse {
            self.reserve.begin_sparse();
        }
        Place {
            slots: self.clone(),
            slot,
            tenant: work.tenant,
            seat,
            sparse,
            real_cost: None,
            ended_at: None,
            since,
            earlier: Duration::ZERO,
            body: Duration::ZERO,
        }
    }

    /// One of the places kept back, if it is free: those that were given out before they were kept back are not yet.
    /// Those who have little to do need not wait until others have made up for places that are no more.
    fn take_kept_back(&self) -> bool {
        if !self.reserve.try_take() {
            return false;
        }
        let most = self.limit().max(self.before.load(Ordering::Relaxed));
        let free = self.in_use() <= most;
        if !free {
            self.reserve.give_back();
        }
        free
    }

    /// Why it would wait for longer than anybody may, if it would: better told at once. Fewer than a turn brings may
    /// always wait, or who has a turn could not use it; unless nobody else has a place that could come free meanwhile.
    fn hopeless(&self, work: Work, now: Duration) -> Option<Refused> {
        let (tenants, tenant) = (&self.tenants, work.tenant);
        let beyond = |wait: Option<Duration>, part| {
            wait.is_some_and(|wait| wait > self.longest_wait.mul_f64(part))
        };
        let foreseen = || beyond(tenants.place_free_in(tenant, now), FORESIGHT);
        if tenants.waiting(tenant) < self.turn(work) {
            let alone = tenants.running(tenant) as usize >= self.queue.in_use();
            return (alone && foreseen()).then_some(Refused::Expired);
        }
        let hopeless = beyond(tenants.wait_expected(tenant), HOPE) || foreseen();
        hopeless.then_some(Refused::TenantFull)
    }

    /// How many may go in one turn, as far as that is worth waiting for.
    fn turn(&self, work: Work) -> u32 {
        self.class_weight(work).max(work.weight).min(LONGEST_TURN)
    }

    /// Of the tenant against all others.
    fn weight(&self, work: Work) -> u32 {
        self.class_weight(work).saturating_mul(work.weight)
    }

    fn class_weight(&self, work: Work) -> u32 {
        let class = self.turns.get(usize::from(work.class.0));
        class.map_or(1, |turn| turn.load(Ordering::Relaxed))
    }

    /// Keeps as many places back as tenants with little to do have been using.
    fn keep_back(&self) {
        if self.reserve.look(self.limit()) {
            self.resize_queue();
        }
    }

    /// All places but those kept back are the queue's. Whoever changes either number at the same moment is heard.
    fn resize_queue(&self) {
        let places = || {
            let limit = self.limit();
            (limit - self.reserve.kept().min(limit / 2)).max(1)
        };
        loop {
            let now = places();
            let _in_bounds = self.queue.resize(now as usize);
            if places() == now {
                break;
            }
        }
    }

    /// All places.
    pub(crate) fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Whether anybody waits for a place.
    pub(crate) fn is_awaited(&self) -> bool {
        self.queue.is_awaited()
    }

    /// Places in use.
    pub(crate) fn in_use(&self) -> u32 {
        u32::try_from(self.queue.in_use()).unwrap_or(u32::MAX - self.reserve.used())
            + self.reserve.used()
    }

    /// The work is done: its place goes to the next, what it really cost is charged, and the limit learns from it.
    /// `cost` is in ordinary requests of this upstream, which usually hold a place for so long. Requests of one tenant
    /// on one `route` are taken to be alike.
    pub(crate) fn leave(
        &self,
        mut place: Place,
        outcome: Option<Outcome>,
        route: usize,
        cost: u64,
        usual: Duration,
        now: Duration,
    ) -> u64 {
        let hold = now.saturating_sub(place.since);
        // What was given up says nothing about the upstream, but how long its place was held.
        if outcome.is_none() {
            self.reserve.note_at_least(hold, place.sparse);
        }
        if let Some(outcome) = outcome {
            let taken = hold.saturating_sub(place.earlier);
            // What failed at once does not say how long work takes.
            let is_late = || place.is_overdue(hold).unwrap_or(hold > usual);
            if outcome == Outcome::Success || is_late() {
                self.tenants.note(place.seat, taken);
                self.reserve.note(taken, place.sparse);
            }
            let kind = place.tenant ^ (route as u64).rotate_right(16);
            let sample = Sample {
                now,
                hold: place.worked(hold),
                in_flight: self.in_use(),
                outcome,
            };
            self.learn(kind, sample);
        }
        place.ended_at = Some(now);
        place.bill(hold, cost, usual)
    }

    /// The upstream has answered somebody.
    pub(crate) fn heard(&self) {
        self.silence.end();
    }

    /// Turns away those whose time to wait is over.
    pub(crate) fn expire(&self) {
        self.queue.expire();
    }

    /// Weights of the classes from their next turn on.
    pub(crate) fn set_classes(&self, classes: &ClassesText) {
        for (class, weight) in [
            (Class::ANON, classes.anon),
            (Class::AUTHED, classes.authed),
            (Class::INTERNAL, classes.internal),
        ] {
            let _known = self.queue.set_class_weight(class, weight);
            self.turns[usize::from(class.0)].store(weight, Ordering::Relaxed);
        }
    }

    /// When a client that was refused should come again: when its tenant may hope for a place, and after those of the
    /// same tenant that were told before.
    pub(crate) fn advice(&self, work: Work, usual: Duration) -> Duration {
        let hope = self.queue.retry_after(work.class, work.tenant);
        let refusal = Refusal {
            now: self.timeline.now(),
            begun: self.tenants.begun(work.tenant),
            hope: hope.unwrap_or(UNMEASURED).max(SOONEST),
            gap: usual / self.limit().max(1),
        };
        self.promises.next(work.tenant, refusal)
    }

    /// Whether the limit is found by itself.
    pub(crate) fn finds_limit(&self) -> bool {
        self.search.lock().adaptive.is_some()
    }

    /// Whether nobody said how many places there are at the most.
    fn is_unlimited(&self) -> bool {
        matches!(self.search.lock().limit, Limit::Found(_))
    }

    /// For the console.
    pub(crate) fn snapshot(&self, top: usize) -> Snapshot {
        let mut snapshot = self.queue.snapshot(top);
        snapshot.limit = self.limit() as usize;
        snapshot.in_use = self.in_use() as usize;
        snapshot
    }
}

#[cfg(test)]
mod tests;
