//! Two tenants before one origin, one of few quick requests and one of many slow ones, in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use testkit::sim::Rng;

use crate::adaptive::{Adaptive, Sample};
use crate::breaker::Outcome;

/// Who finds more of its own before the gate goes away.
const LINE_MAX: usize = 64;
/// Places kept back for the first tenant.
const KEPT: u32 = 6;

/// What a tenant asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tenant {
    pub(super) per_s: f64,
    pub(super) service_ms: u64,
}

/// The first tenant goes first, and has places of its own, as tenants that ask for little do.
pub(super) struct Mix {
    machine: Adaptive,
    tenants: [Tenant; 2],
    places: usize,
    rng: Rng,
    events: BinaryHeap<Reverse<(Duration, Event)>>,
    lines: [usize; 2],
    in_flight: u32,
    inside: [u32; 2],
    behind_gate: VecDeque<Work>,
    busy: usize,
    took_ms: Vec<u128>,
    served: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Work {
    tenant: usize,
    admitted: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Done(Work),
    Arrival(usize),
}

impl Mix {
    pub(super) fn new(machine: Adaptive, tenants: [Tenant; 2], places: usize, rng: Rng) -> Self {
        let arrival = |tenant| Reverse((Duration::ZERO, Event::Arrival(tenant)));
        Self {
            machine,
            tenants,
            places,
            rng,
            events: BinaryHeap::from([arrival(0), arrival(1)]),
            lines: [0; 2],
            in_flight: 0,
            inside: [0; 2],
            behind_gate: VecDeque::new(),
            busy: 0,
            took_ms: Vec::new(),
            served: 0,
        }
    }

    /// Until then. Says how many of the second tenant were answered meanwhile, and how long those of the first one
    /// took once they were let in.
    pub(super) fn run(&mut self, end: Duration) -> (usize, Vec<u128>) {
        while let Some(&Reverse((now, event))) = self.events.peek()
            && now < end
        {
            self.events.pop();
            match event {
                Event::Arrival(tenant) => self.arrive(tenant, now),
                Event::Done(work) => self.done(work, now),
            }
            self.let_in(now);
        }
        (
            std::mem::take(&mut self.served),
            std::mem::take(&mut self.took_ms),
        )
    }

    fn arrive(&mut self, tenant: usize, now: Duration) {
        self.lines[tenant] = (self.lines[tenant] + 1).min(LINE_MAX);
        let pause = -(1.0 - self.rng.f64()).ln() / self.tenants[tenant].per_s;
        let next = now + Duration::from_secs_f64(pause);
        self.events.push(Reverse((next, Event::Arrival(tenant))));
    }

    fn done(&mut self, work: Work, now: Duration) {
        let sample = Sample {
            now,
            hold: now - work.admitted,
            in_flight: self.in_flight,
            outcome: Outcome::Success,
        };
        self.machine.record_kind(work.tenant as u64, sample);
        self.inside[work.tenant] -= 1;
        self.busy -= 1;
        self.in_flight -= 1;
        match work.tenant {
            0 => self.took_ms.push((now - work.admitted).as_millis()),
            _ => self.served += 1,
        }
    }

    /// The first tenant first; some places are kept back for it.
    fn next(&mut self) -> Option<usize> {
        let limit = self.machine.limit();
        let kept = KEPT.min(limit / 4);
        let may = |tenant: &usize| *tenant == 0 || self.inside[1] < limit - kept;
        let next = (0..2).filter(may).find(|tenant| self.lines[*tenant] > 0)?;
        self.lines[next] -= 1;
        Some(next)
    }

    fn let_in(&mut self, now: Duration) {
        while self.in_flight < self.machine.limit() {
            let Some(tenant) = self.next() else {
                break;
            };
            self.inside[tenant] += 1;
            self.in_flight += 1;
            self.behind_gate.push_back(Work {
                tenant,
                admitted: now,
            });
        }
        while self.busy < self.places
            && let Some(work) = self.behind_gate.pop_front()
        {
            self.busy += 1;
            let service = Duration::from_millis(self.tenants[work.tenant].service_ms);
            let service = service.mul_f64(0.95 + 0.1 * self.rng.f64());
            self.events
                .push(Reverse((now + service, Event::Done(work))));
        }
    }
}
