//! The places of an upstream, handed out in fair order; how many there are is fixed, or found by itself.

use std::time::Duration;

use concurrency_gate::{Adaptive, Bounds, Outcome, Policy, Sample};
use fair_queue::{Class, ClassSpec, FairQueue, Overflow, Refused, Settings, Slot, Snapshot, Work};
use kernel::clock::Timeline;
use kernel::lock::{Lock, LockSpec};

use crate::config::{ClassesText, OverflowText, QueueText};

/// Guards what a limit is found from.
pub(crate) static ADAPTIVE: LockSpec = LockSpec {
    name: "gateway_adaptive",
    level: 60,
    doc: "what an upstream's limit is found from; each answer adds a sample",
};

/// Cost units of an ordinary request. Settled costs are fractions of it, so one is not enough.
pub(crate) const UNIT: u64 = 16;
/// A request never costs less than a quarter or more than 64 times of what it was taken for.
const LEAST: f64 = 0.25;
const MOST: f64 = 64.0;

/// What a client that was refused is told before anything is known of how fast places come free.
const UNMEASURED: Duration = Duration::from_secs(1);
/// Never sooner than this: a header counts in whole seconds, the body in milliseconds.
const SOONEST: Duration = Duration::from_millis(10);

/// The places of one upstream.
pub(crate) struct Slots {
    queue: FairQueue,
    adaptive: Lock<Option<Adaptive>>,
    timeline: Timeline,
}

/// How many places there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Fixed(u32),
    /// Found by itself, up to this.
    Found(u32),
}

/// Where the search begins: few enough not to harm a small origin, enough to learn from.
const FIRST_LIMIT: u32 = 16;

impl Limit {
    fn first(self) -> u32 {
        match self {
            Limit::Fixed(limit) => limit,
            Limit::Found(most) => FIRST_LIMIT.min(most),
        }
    }

    fn policy(self) -> Option<Adaptive> {
        match self {
            Limit::Fixed(_) => None,
            Limit::Found(max) => {
                let policy = Policy::guarded(Bounds { min: 1, max });
                Adaptive::new(&policy, self.first())
            }
        }
    }
}

/// A place in use.
pub(crate) struct Place {
    slot: Slot,
    pub(crate) since: Duration,
}

impl Slots {
    pub(crate) fn new(
        limit: Limit,
        classes: &ClassesText,
        queue: &QueueText,
        timeline: Timeline,
    ) -> Self {
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
        let queue = FairQueue::new(settings, move || timeline.now());
        Self {
            queue: queue.expect("the schema bounds weights, costs and limits"),
            adaptive: Lock::new(&ADAPTIVE, limit.policy()),
            timeline,
        }
    }

    /// A place, in fair order. What it cost is known, and charged, when it is given back.
    pub(crate) async fn enter(&self, work: Work) -> Result<Place, Refused> {
        let slot = self.queue.acquire(work.cost(UNIT)).await?;
        let since = self.timeline.now();
        Ok(Place { slot, since })
    }

    /// The work is done: its place goes to the next, what it really cost is charged, and the limit learns from it.
    /// `cost` is in ordinary requests of this upstream, which usually hold a place for so long.
    pub(crate) fn leave(
        &self,
        place: Place,
        outcome: Option<Outcome>,
        cost: u64,
        usual: Duration,
        now: Duration,
    ) {
        let hold = now.saturating_sub(place.since);
        // What was given up says nothing about the upstream.
        if let Some(outcome) = outcome {
            self.learn(Sample {
                now,
                hold,
                in_flight: u32::try_from(self.queue.in_use()).unwrap_or(u32::MAX),
                outcome,
            });
        }
        let dearer = hold.as_secs_f64() / usual.as_secs_f64().max(1e-6);
        let cost = (cost * UNIT) as f64 * dearer.clamp(LEAST, MOST);
        place.slot.settle(cost as u64);
    }

    fn learn(&self, sample: Sample) {
        let mut adaptive = self.adaptive.lock();
        let Some(adaptive) = adaptive.as_mut() else {
            return;
        };
        adaptive.record(sample);
        let limit = adaptive.limit() as usize;
        if limit != self.queue.limit() {
            let _in_bounds = self.queue.resize(limit);
        }
    }

    /// Another limit from now on; one that is found goes on from where it is.
    pub(crate) fn set_limit(&self, limit: Limit) {
        let mut adaptive = self.adaptive.lock();
        let fixed = match limit {
            Limit::Fixed(limit) => {
                *adaptive = None;
                limit
            }
            Limit::Found(most) => {
                *adaptive = limit.policy();
                let here = u32::try_from(self.queue.limit()).unwrap_or(most).min(most);
                if let Some(adaptive) = adaptive.as_mut() {
                    adaptive.set(here);
                }
                here
            }
        };
        let _in_bounds = self.queue.resize(fixed as usize);
    }

    /// Weights of the classes from their next turn on.
    pub(crate) fn set_classes(&self, classes: &ClassesText) {
        for (class, weight) in [
            (Class::ANON, classes.anon),
            (Class::AUTHED, classes.authed),
            (Class::INTERNAL, classes.internal),
        ] {
            let _known = self.queue.set_class_weight(class, weight);
        }
    }

    /// When a tenant that was refused may hope for a place; drawn, so that not all come again at once.
    pub(crate) fn advice(&self, work: Work) -> Duration {
        let hope = self.queue.retry_after(work.class, work.tenant);
        let hope = hope.unwrap_or(UNMEASURED).max(SOONEST);
        hope.mul_f64(1.0 + fastrand::f64() / 4.0)
    }

    /// Whether the limit is found by itself.
    pub(crate) fn finds_limit(&self) -> bool {
        self.adaptive.lock().is_some()
    }

    /// For the console.
    pub(crate) fn snapshot(&self, top: usize) -> Snapshot {
        self.queue.snapshot(top)
    }
}
