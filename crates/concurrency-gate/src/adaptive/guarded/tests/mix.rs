//! Two tenants before one origin, one of few quick requests and one of many slow ones, in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use testkit::sim::Rng;

use crate::adaptive::{Adaptive, Sample};
use crate::breaker::Outcome;

/// How long anybody waits before the gate, and what is noted of who was turned away.
const PATIENCE: Duration = Duration::from_millis(500);
const TURNED_AWAY: Duration = Duration::from_secs(1);
/// How many of the first tenant wait at most.
const FEW: usize = 8;
/// Places kept back for the first tenant.
const KEPT: u32 = 6;

/// What a tenant asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tenant {
    pub(super) per_s: f64,
    pub(super) service_ms: u64,
}

/// How requests come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// At equal distances, all work of a tenant takes as long: slow work goes in waves. Or by chance.
    pub(super) regular: bool,
    /// Who finds more of the second tenant before the gate goes away.
    pub(super) line_max: usize,
}

/// The first tenant goes first, and has places of its own, as tenants that ask for little do.
pub(super) struct Mix {
    machine: Adaptive,
    tenants: [Tenant; 2],
    manner: Manner,
    places: usize,
    kept: u32,
    rng: Rng,
    events: BinaryHeap<Reverse<(Duration, Event)>>,
    /// When those who wait came.
    lines: [VecDeque<Duration>; 2],
    in_flight: u32,
    inside: [u32; 2],
    behind_gate: VecDeque<Work>,
    busy: usize,
    took: Vec<Duration>,
    served: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Work {
    tenant: usize,
    came: Duration,
    admitted: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Done(Work),
    Arrival(usize),
}

impl Mix {
    pub(super) fn new(
        machine: Adaptive,
        tenants: [Tenant; 2],
        manner: Manner,
        places: usize,
        rng: Rng,
    ) -> Self {
        let arrival = |tenant| Reverse((Duration::ZERO, Event::Arrival(tenant)));
        Self {
            machine,
            tenants,
            manner,
            places,
            kept: KEPT,
            rng,
            events: BinaryHeap::from([arrival(0), arrival(1)]),
            lines: Default::default(),
            in_flight: 0,
            inside: [0; 2],
            behind_gate: VecDeque::new(),
            busy: 0,
            took: Vec::new(),
            served: 0,
        }
    }

    /// From now on it has so many places, and takes so many times longer for everything.
    pub(super) fn change(&mut self, places: usize, slower: u64) {
        self.places = places;
        for tenant in &mut self.tenants {
            tenant.service_ms *= slower;
        }
    }

    /// One of the first tenant has taken half a minute. Says the limits before and after.
    pub(super) fn is_late(&mut self, now: Duration, outcome: Outcome) -> [u32; 2] {
        let before = self.machine.limit();
        let sample = Sample {
            now,
            hold: Duration::from_secs(30),
            in_flight: self.in_flight,
            outcome,
        };
        self.machine.record_kind(0, sample);
        [before, self.machine.limit()]
    }

    /// The first tenant comes no more.
    pub(super) fn stay_away(&mut self) {
        self.tenants[0].per_s = 1e-3;
        self.kept = 0;
    }

    /// Until then. Says how many of the second tenant were answered meanwhile, and how long those of the first one
    /// took, the wait before the gate included.
    pub(super) fn run(&mut self, end: Duration) -> (usize, Vec<Duration>) {
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
            std::mem::take(&mut self.took),
        )
    }

    fn arrive(&mut self, tenant: usize, now: Duration) {
        let most = [FEW, self.manner.line_max][tenant];
        if self.lines[tenant].len() < most {
            self.lines[tenant].push_back(now);
        } else {
            self.turn_away(tenant);
        }
        let usual = self.tenants[tenant].per_s.recip();
        let pause = match self.manner.regular {
            true => usual,
            false => usual * -(1.0 - self.rng.f64()).ln(),
        };
        let next = now + Duration::from_secs_f64(pause);
        self.events.push(Reverse((next, Event::Arrival(tenant))));
    }

    fn turn_away(&mut self, tenant: usize) {
        if tenant == 0 {
            self.took.push(TURNED_AWAY);
        }
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
            0 => self.took.push(now - work.came),
            _ => self.served += 1,
        }
    }

    fn send_home(&mut self, now: Duration) {
        for tenant in 0..2 {
            while let Some(came) = self.lines[tenant].front()
                && now - *came > PATIENCE
            {
                self.lines[tenant].pop_front();
                self.turn_away(tenant);
            }
        }
    }

    /// The first tenant first; some places are kept back for it.
    fn next(&mut self, now: Duration) -> Option<Work> {
        let limit = self.machine.limit();
        let kept = self.kept.min(limit / 4);
        let may = |tenant: &usize| *tenant == 0 || self.inside[1] < limit - kept;
        let waits = |tenant: &usize| !self.lines[*tenant].is_empty();
        let tenant = (0..2).filter(may).find(waits)?;
        Some(Work {
            tenant,
            came: self.lines[tenant].pop_front()?,
            admitted: now,
        })
    }

    fn let_in(&mut self, now: Duration) {
        self.send_home(now);
        while self.in_flight < self.machine.limit()
            && let Some(work) = self.next(now)
        {
            self.inside[work.tenant] += 1;
            self.in_flight += 1;
            self.behind_gate.push_back(work);
        }
        while self.busy < self.places
            && let Some(work) = self.behind_gate.pop_front()
        {
            self.busy += 1;
            let service = Duration::from_millis(self.tenants[work.tenant].service_ms);
            let service = match self.manner.regular {
                true => service.mul_f64(1.0 + 0.001 * self.rng.f64()),
                false => service.mul_f64(0.95 + 0.1 * self.rng.f64()),
            };
            self.events
                .push(Reverse((now + service, Event::Done(work))));
        }
    }
}
