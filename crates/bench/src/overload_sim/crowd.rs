//! One noisy tenant and eight polite ones before one origin, with any of the queues between.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use testkit::sim::Rng;

use super::fairness::{fair_shares, jain};
use super::lines::{Discipline, Line};
use super::{CAPACITY_PER_S, PATIENCE, PLACES, SERVICE, quantile};

pub(crate) const TENANTS: usize = 9;
/// The one that makes what the polite do not.
pub(crate) const NOISY: usize = TENANTS - 1;
const POLITE_PER_S: f64 = 20.0;
/// Not counted: queues fill first, the one without bound at 1.5x for three seconds, until clients
/// begin to leave it, and then for as long as they wait.
const WARM_UP: Duration = Duration::from_secs(5);

/// In order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(crate) at: Duration,
    pub(crate) tenant: usize,
}

/// What came out of one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// Answered before the client went away, all tenants.
    pub(crate) goodput_per_s: f64,
    /// The share of the polite tenants' requests that were.
    pub(crate) polite_ok: f64,
    /// Of those; the whole patience if there were none.
    pub(crate) polite_p99_ms: f64,
    /// Over the tenants' shares of what was fair for them; `None` if nobody was answered.
    pub(crate) jain: Option<f64>,
}

/// `load` in capacities, over that length. Disciplines see the same arrivals for the same seed.
pub(crate) fn simulate(discipline: Discipline, load: f64, length: Duration, seed: u64) -> Figures {
    World {
        arrivals: Arrivals::new(load, seed),
        line: discipline.line(),
        busy: BinaryHeap::with_capacity(PLACES),
        service: Rng::with_seed(!seed),
        books: Books::new(length),
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
            let takes = SERVICE.mul_f64(0.9 + 0.2 * self.service.f64());
            self.busy.push(Reverse((now + takes, request)));
        }
    }
}

/// Independent clients: requests come at random moments, whatever became of those before.
struct Arrivals {
    rng: Rng,
    at: Duration,
    all_per_s: f64,
}

impl Arrivals {
    fn new(load: f64, seed: u64) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            at: Duration::ZERO,
            all_per_s: load * CAPACITY_PER_S,
        }
    }

    fn next(&mut self) -> Request {
        self.at += pause(&mut self.rng, self.all_per_s);
        let polite = (self.rng.f64() * self.all_per_s / POLITE_PER_S) as usize;
        Request {
            at: self.at,
            tenant: polite.min(NOISY),
        }
    }
}

/// Until the next of so many a second, exponentially distributed.
pub(crate) fn pause(rng: &mut Rng, per_s: f64) -> Duration {
    Duration::from_secs_f64(-(1.0 - rng.f64()).ln() / per_s)
}

struct Books {
    until: Duration,
    /// By the time of arrival.
    sent: [f64; TENANTS],
    ok: [f64; TENANTS],
    polite_ms: Vec<f64>,
    /// By the time of the answer: never more than the origin can do.
    answered: f64,
}

impl Books {
    fn new(length: Duration) -> Self {
        Self {
            until: WARM_UP + length,
            sent: [0.0; TENANTS],
            ok: [0.0; TENANTS],
            polite_ms: Vec::new(),
            answered: 0.0,
        }
    }

    fn counts(&self, at: Duration) -> bool {
        (WARM_UP..self.until).contains(&at)
    }

    fn sent(&mut self, request: Request) {
        if self.counts(request.at) {
            self.sent[request.tenant] += 1.0;
        }
    }

    fn answered(&mut self, request: Request, now: Duration) {
        let took = now - request.at;
        if took > PATIENCE {
            return;
        }
        if self.counts(now) {
            self.answered += 1.0;
        }
        if !self.counts(request.at) {
            return;
        }
        self.ok[request.tenant] += 1.0;
        if request.tenant != NOISY {
            self.polite_ms.push(took.as_secs_f64() * 1e3);
        }
    }

    fn figures(mut self) -> Figures {
        let length_s = (self.until - WARM_UP).as_secs_f64();
        let fair = fair_shares(&self.sent, CAPACITY_PER_S * length_s);
        let shares: Vec<f64> = self
            .ok
            .iter()
            .zip(fair)
            .map(|(ok, fair)| ok / fair)
            .collect();
        let polite_sent: f64 = self.sent[..NOISY].iter().sum();
        let polite_p99_ms = match self.polite_ms.as_mut_slice() {
            [] => PATIENCE.as_secs_f64() * 1e3,
            answered => quantile(answered, 0.99),
        };
        Figures {
            goodput_per_s: self.answered / length_s,
            polite_ok: self.ok[..NOISY].iter().sum::<f64>() / polite_sent,
            polite_p99_ms,
            jain: jain(&shares),
        }
    }
}
