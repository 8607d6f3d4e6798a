//! A gate before an origin of so many places that works first come first served, in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use testkit::sim::Rng;

use crate::adaptive::{Adaptive, Sample};
use crate::breaker::Outcome;

/// Who finds more than this before the gate goes away.
const LINE_MAX: usize = 64;
/// A change is not judged before this.
const SETTLED: Duration = Duration::from_secs(3);

/// What the origin is like, for a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) places: u32,
    pub(super) service_ms: f64,
    pub(super) nature: Nature,
    /// Whether it sends away at once whom it has no place for, instead of letting them wait.
    pub(super) refuses: bool,
    /// The share that it sends away, however few are inside.
    pub(super) failing: f64,
    /// How long it takes to be sent away.
    pub(super) refusal_ms: f64,
}

/// How service times vary about their mean.
#[derive(Clone, Copy, Debug)]
pub(super) enum Nature {
    /// Not at all.
    Fixed,
    /// By a tenth either way.
    Even,
    Exponential,
    /// Nine in ten are forty times quicker than the tenth.
    TwoKinds,
    /// Pareto's, of shape 2.2.
    HeavyTailed,
}

/// What came of it after three seconds.
#[derive(Debug)]
pub(super) struct Report {
    /// Answers, as a share of what was asked for and possible.
    pub(super) goodput: f64,
    /// The median time behind the gate until the origin began, and the service after it, in service times.
    pub(super) delay: f64,
    /// The median limit, as a share of the places.
    pub(super) limit: f64,
    /// The share of what was let in that failed.
    pub(super) failed: f64,
}

pub(super) struct World {
    pub(super) machine: Adaptive,
    rng: Rng,
    now: Duration,
    events: BinaryHeap<Reverse<(Duration, Event)>>,
    before_gate: usize,
    in_flight: u32,
    /// When they were let in.
    behind_gate: VecDeque<Duration>,
    busy: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Let in and begun at.
    Done(Duration, Duration),
    /// Let in, and sent away.
    Failed(Duration),
    Arrival,
}

impl Origin {
    pub(super) fn per_s(self) -> f64 {
        f64::from(self.places) * 1e3 / self.service_ms
    }

    fn service(self, rng: &mut Rng) -> Duration {
        let left = 1.0 - rng.f64();
        let share = match self.nature {
            Nature::Fixed => 1.0,
            Nature::Even => 0.9 + 0.2 * left,
            Nature::Exponential => -left.ln(),
            Nature::TwoKinds if left > 0.1 => 5.0 / 24.5,
            Nature::TwoKinds => 200.0 / 24.5,
            Nature::HeavyTailed => (1.2 / 2.2 * left.powf(-1.0 / 2.2)).min(50.0),
        };
        Duration::from_secs_f64(self.service_ms * share / 1e3)
    }
}

impl World {
    pub(super) fn new(machine: Adaptive, rng: Rng) -> Self {
        Self {
            machine,
            rng,
            now: Duration::ZERO,
            events: BinaryHeap::from([Reverse((Duration::ZERO, Event::Arrival))]),
            before_gate: 0,
            in_flight: 0,
            behind_gate: VecDeque::new(),
            busy: 0,
        }
    }

    /// So many come a second, independently of each other.
    pub(super) fn run(&mut self, origin: Origin, per_s: f64, seconds: u64) -> Report {
        let counted = self.now + SETTLED;
        let end = self.now + Duration::from_secs(seconds);
        let (mut delays_s, mut limits) = (Vec::new(), Vec::new());
        let mut failed = 0;
        while let Some(&Reverse((now, event))) = self.events.peek()
            && now < end
        {
            self.events.pop();
            self.now = now;
            match event {
                Event::Arrival => {
                    self.before_gate = (self.before_gate + 1).min(LINE_MAX);
                    let pause = -(1.0 - self.rng.f64()).ln() / per_s;
                    let next = now + Duration::from_secs_f64(pause);
                    self.events.push(Reverse((next, Event::Arrival)));
                }
                Event::Done(admitted, began) => {
                    self.busy -= 1;
                    self.done(admitted);
                    if now >= counted {
                        delays_s.push((began - admitted).as_secs_f64());
                        limits.push(f64::from(self.machine.limit()));
                    }
                }
                Event::Failed(admitted) => {
                    let held = now - admitted;
                    self.machine.overrun(now, held, self.in_flight);
                    self.in_flight -= 1;
                    failed += usize::from(now >= counted);
                }
            }
            self.let_in(origin);
        }
        self.now = end;
        let possible = per_s.min(origin.per_s()) * (end - counted).as_secs_f64();
        let ended = (delays_s.len() + failed).max(1);
        Report {
            failed: failed as f64 / ended as f64,
            goodput: delays_s.len() as f64 / possible,
            delay: 1.0 + median(delays_s) * 1e3 / origin.service_ms,
            limit: median(limits) / f64::from(origin.places),
        }
    }

    fn done(&mut self, admitted: Duration) {
        self.machine.record(Sample {
            now: self.now,
            hold: self.now - admitted,
            in_flight: self.in_flight,
            outcome: Outcome::Success,
        });
        self.in_flight -= 1;
    }

    fn let_in(&mut self, origin: Origin) {
        while self.in_flight < self.machine.limit() && self.before_gate > 0 {
            self.before_gate -= 1;
            self.in_flight += 1;
            if self.rng.f64() < origin.failing {
                self.fail(self.now, origin);
            } else {
                self.behind_gate.push_back(self.now);
            }
        }
        while self.busy < origin.places
            && let Some(admitted) = self.behind_gate.pop_front()
        {
            self.busy += 1;
            let done = self.now + origin.service(&mut self.rng);
            self.events
                .push(Reverse((done, Event::Done(admitted, self.now))));
        }
        while origin.refuses
            && let Some(admitted) = self.behind_gate.pop_front()
        {
            self.fail(admitted, origin);
        }
    }

    fn fail(&mut self, admitted: Duration, origin: Origin) {
        let took = Duration::from_secs_f64(origin.refusal_ms / 1e3);
        let failed = (self.now + took, Event::Failed(admitted));
        self.events.push(Reverse(failed));
    }
}

pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
