//! A gate with a limit policy before an origin that changes, always with more to do than it can.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use concurrency_gate::{Adaptive, Bounds, Outcome, Policy, Sample};
use testkit::sim::Rng;

use super::crowd::pause;
use super::traces::{LENGTH, TIMEOUT, Trace};
use super::{PATIENCE, PLACES, quantile};

/// Offered load, in what the origin can do when nothing ails it.
const LOAD: f64 = 1.5;
/// Requests that may wait at the gate.
const QUEUE_MAX: usize = 64;
const BOUNDS: Bounds = Bounds { min: 4, max: 256 };
/// Where a policy begins that has to find out.
const INITIAL: u32 = 16;
/// Not counted: a policy finds its way first.
const WARM_UP: Duration = Duration::from_secs(5);
/// How often the limit is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Who sets the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// Was told how many places the origin has.
    Fixed,
    /// Was told what is slow.
    Aimd,
    Gradient,
    /// The default; was told nothing.
    Guarded,
}

impl Contender {
    pub(crate) const ALL: [Self; 4] = [Self::Fixed, Self::Aimd, Self::Gradient, Self::Guarded];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed 32",
            Self::Aimd => "AIMD",
            Self::Gradient => "gradient",
            Self::Guarded => "guarded (default)",
        }
    }

    fn machine(self) -> Option<Adaptive> {
        let policy = match self {
            Self::Fixed => Policy::Fixed,
            Self::Aimd => Policy::Aimd {
                bounds: BOUNDS,
                slow: Duration::from_millis(40),
                backoff: 0.9,
            },
            Self::Gradient => Policy::Gradient {
                bounds: BOUNDS,
                tolerance: 1.5,
            },
            Self::Guarded => Policy::guarded(BOUNDS),
        };
        Adaptive::new(&policy, INITIAL)
    }
}

/// What came out of one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ride {
    /// Answered in time, as a share of what the origin could have.
    pub(crate) goodput_share: f64,
    /// Of those: from the client's request until the origin began, wherever it waited.
    pub(crate) wait_p99_ms: f64,
    /// The limit, each [`LOOK_EVERY`], by seconds.
    pub(crate) limits: Vec<(f64, f64)>,
}

pub(crate) fn simulate(trace: Trace, contender: Contender, seed: u64) -> Ride {
    World {
        trace,
        machine: contender.machine(),
        arrivals: Rng::with_seed(seed),
        service: Rng::with_seed(!seed),
        events: BinaryHeap::new(),
        jobs: Vec::new(),
        line: VecDeque::new(),
        in_flight: 0,
        origin_line: VecDeque::new(),
        origin_busy: 0,
        waits_ms: Vec::new(),
        limits: Vec::new(),
    }
    .run()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Done(usize),
    TimedOut(usize),
    Arrival,
    Look,
}

/// A request that was let through.
struct Job {
    arrived: Duration,
    admitted: Duration,
    began: Option<Duration>,
    /// It was answered or given up: its slot is free again.
    left: bool,
}

struct World {
    trace: Trace,
    machine: Option<Adaptive>,
    arrivals: Rng,
    service: Rng,
    events: BinaryHeap<Reverse<(Duration, Event)>>,
    jobs: Vec<Job>,
    /// Arrivals of those who wait at the gate.
    line: VecDeque<Duration>,
    in_flight: u32,
    /// What was let through and finds no place. It stays when the gate has given it up.
    origin_line: VecDeque<usize>,
    origin_busy: usize,
    waits_ms: Vec<f64>,
    limits: Vec<(f64, f64)>,
}

impl World {
    fn run(mut self) -> Ride {
        self.schedule(Duration::ZERO, Event::Arrival);
        self.schedule(Duration::ZERO, Event::Look);
        while let Some(Reverse((now, event))) = self.events.pop() {
            if now >= LENGTH {
                break;
            }
            match event {
                Event::Arrival => self.arrive(now),
                Event::Done(job) => self.done(job, now),
                Event::TimedOut(job) => self.leave(job, now, Outcome::Failure),
                Event::Look => self.look(now),
            }
            self.admit(now);
            self.begin(now);
        }
        Ride {
            goodput_share: self.waits_ms.len() as f64 / possible(self.trace),
            wait_p99_ms: quantile(&mut self.waits_ms, 0.99),
            limits: self.limits,
        }
    }

    fn schedule(&mut self, at: Duration, event: Event) {
        self.events.push(Reverse((at, event)));
    }

    fn limit(&self) -> u32 {
        let moved = self.machine.as_ref().map(Adaptive::limit);
        moved.unwrap_or(PLACES as u32)
    }

    fn look(&mut self, now: Duration) {
        self.limits
            .push((now.as_secs_f64(), f64::from(self.limit())));
        self.schedule(now + LOOK_EVERY, Event::Look);
    }

    fn arrive(&mut self, now: Duration) {
        if self.line.len() < QUEUE_MAX {
            self.line.push_back(now);
        }
        let per_s = LOAD * self.trace.capacity_per_s(Duration::ZERO);
        let next = now + pause(&mut self.arrivals, per_s);
        self.schedule(next, Event::Arrival);
    }

    fn admit(&mut self, now: Duration) {
        while self.in_flight < self.limit() {
            let Some(arrived) = self.line.pop_front() else {
                return;
            };
            if now >= arrived + PATIENCE {
                continue;
            }
            self.in_flight += 1;
            let job = self.jobs.len();
            self.jobs.push(Job {
                arrived,
                admitted: now,
                began: None,
                left: false,
            });
            self.origin_line.push_back(job);
            self.schedule(now + TIMEOUT, Event::TimedOut(job));
        }
    }

    /// The origin works for those who have left, too.
    fn begin(&mut self, now: Duration) {
        while self.origin_busy < self.trace.places(now) {
            let Some(job) = self.origin_line.pop_front() else {
                return;
            };
            self.origin_busy += 1;
            self.jobs[job].began = Some(now);
            let done = self.trace.done(now, &mut self.service);
            self.schedule(done, Event::Done(job));
        }
    }

    fn done(&mut self, job: usize, now: Duration) {
        self.origin_busy -= 1;
        if now >= self.jobs[job].admitted + TIMEOUT {
            return;
        }
        self.leave(job, now, Outcome::Success);
        let Job { arrived, began, .. } = self.jobs[job];
        let in_time = now <= arrived + PATIENCE && now >= WARM_UP;
        if let Some(began) = began.filter(|_| in_time) {
            self.waits_ms.push((began - arrived).as_secs_f64() * 1e3);
        }
    }

    fn leave(&mut self, job: usize, now: Duration, outcome: Outcome) {
        let job = &mut self.jobs[job];
        if std::mem::replace(&mut job.left, true) {
            return;
        }
        let hold = now - job.admitted;
        let in_flight = self.in_flight;
        self.in_flight -= 1;
        if let Some(machine) = &mut self.machine {
            machine.record(Sample {
                now,
                hold,
                in_flight,
                outcome,
            });
        }
    }
}

/// Answers in the counted time if no place were ever idle.
fn possible(trace: Trace) -> f64 {
    let step = Duration::from_millis(10);
    let moments = (0..).map(|at| WARM_UP + step * at);
    moments
        .take_while(|now| *now < LENGTH)
        .map(|now| trace.capacity_per_s(now) * step.as_secs_f64())
        .sum()
}
