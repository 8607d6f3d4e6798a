//! Nine tenants before one origin, with any of the queues between.

mod books;
mod tenants;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use testkit::sim::Rng;

pub(crate) use books::Figures;
pub(crate) use tenants::{Crowd, NOISY, TENANTS, Tenant};

use super::lines::{Discipline, Line};
use super::{PATIENCE, PLACES, SERVICE};
use books::Books;

/// Within so much of its usual length every piece of work is done.
const SPREAD: f64 = 0.1;

/// In order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(crate) at: Duration,
    pub(crate) tenant: usize,
    /// What it takes of the origin, in usual requests.
    pub(crate) cost: u32,
    pub(crate) weight: u32,
    /// When its client goes away.
    pub(crate) until: Duration,
}

impl Request {
    /// Begun at this moment or later, it is done too late for its client.
    pub(crate) fn begin_by(&self) -> Duration {
        let takes = SERVICE.mul_f64(f64::from(self.cost) * (1.0 + SPREAD));
        self.until.saturating_sub(takes)
    }
}

/// `load` in capacities, over that length. Disciplines see the same arrivals for the same seed.
pub(crate) fn simulate(
    crowd: Crowd,
    discipline: Discipline,
    load: f64,
    length: Duration,
    seed: u64,
) -> Figures {
    let tenants = crowd.tenants(load);
    World {
        arrivals: Arrivals::new(tenants, seed),
        line: discipline.line(crowd.max_cost()),
        busy: BinaryHeap::with_capacity(PLACES),
        service: Rng::with_seed(!seed),
        books: Books::new(tenants.map(|tenant| tenant.weight), length),
    }
    .run()
}

struct World {
    arrivals: Arrivals,
    line: Box<dyn Line>,
    /// By the moment when the origin is done with it.
    busy: BinaryHeap<Reverse<(Duration, Request)>>,
    service: Rng,
    books: Books,
}

impl World {
    fn run(mut self) -> Figures {
        // Whoever came in the counted time has been answered then or has gone.
        let end = self.books.until + PATIENCE;
        let mut next = self.arrivals.next();
        while next.at < end {
            let now = match self.busy.peek() {
                Some(&Reverse((done, request))) if done <= next.at => {
                    self.busy.pop();
                    self.line.done(request.tenant);
                    self.books.answered(request, done);
                    done
                }
                _ => {
                    let request = std::mem::replace(&mut next, self.arrivals.next());
                    self.books.sent(request);
                    self.line.push(request, request.at);
                    request.at
                }
            };
            self.begin(now);
        }
        self.books.figures()
    }

    fn begin(&mut self, now: Duration) {
        while self.busy.len() < PLACES {
            let Some(request) = self.line.pop(now) else {
                return;
            };
            let usual = SERVICE * request.cost;
            let takes = usual.mul_f64(1.0 - SPREAD + 2.0 * SPREAD * self.service.f64());
            self.busy.push(Reverse((now + takes, request)));
        }
    }
}

/// Independent clients: requests come at random moments, whatever became of those before.
struct Arrivals {
    rng: Rng,
    at: Duration,
    tenants: [Tenant; TENANTS],
    all_per_s: f64,
}

impl Arrivals {
    fn new(tenants: [Tenant; TENANTS], seed: u64) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            at: Duration::ZERO,
            tenants,
            all_per_s: tenants.iter().map(|tenant| tenant.per_s).sum(),
        }
    }

    fn next(&mut self) -> Request {
        self.at += pause(&mut self.rng, self.all_per_s);
        let who = self.who();
        let tenant = self.tenants[who];
        Request {
            at: self.at,
            tenant: who,
            cost: tenant.cost,
            weight: tenant.weight,
            until: self.at + tenant.patience,
        }
    }

    /// Each as often as their part of all requests.
    fn who(&mut self) -> usize {
        let mut left = self.rng.f64() * self.all_per_s;
        let mine = |tenant: &Tenant| {
            left -= tenant.per_s;
            left < 0.0
        };
        let last = TENANTS - 1;
        self.tenants.iter().position(mine).unwrap_or(last)
    }
}

/// Until the next of so many a second, exponentially distributed.
pub(crate) fn pause(rng: &mut Rng, per_s: f64) -> Duration {
    Duration::from_secs_f64(-(1.0 - rng.f64()).ln() / per_s)
}
