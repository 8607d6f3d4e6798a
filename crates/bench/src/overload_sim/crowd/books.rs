//! What each tenant sent and got, and what it adds up to.

use std::time::Duration;

use super::super::fairness::{fair_shares, jain};
use super::super::{CAPACITY_PER_S, PATIENCE, quantile};
use super::{NOISY, Request, TENANTS};

/// Not counted: queues fill first, the one without bound at 1.5x for three seconds, until clients
/// begin to leave it, and then for as long as they wait.
const WARM_UP: Duration = Duration::from_secs(5);

/// What came out of one run. Requests count as what they cost.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// Answered before the client went away, all tenants.
    pub(crate) goodput_per_s: f64,
    /// The share of the requests of all but the last tenant that were.
    pub(crate) polite_ok: f64,
    /// Of those; the whole patience if there were none.
    pub(crate) polite_p99_ms: f64,
    /// Over the tenants' shares of what was fair for them; `None` if nobody was answered.
    pub(crate) jain: Option<f64>,
    /// Of what the origin did, what was too late for its client.
    pub(crate) in_vain: f64,
    /// Of what the origin did, what it did for the last tenant.
    pub(crate) share_of_last: f64,
    /// Of what the origin did, what it did for every other tenant, from the first on.
    pub(crate) share_of_even: f64,
}

pub(super) struct Books {
    pub(super) until: Duration,
    weights: [u32; TENANTS],
    /// By the time of arrival.
    sent: [f64; TENANTS],
    ok: [f64; TENANTS],
    polite_ms: Vec<f64>,
    /// By the time of the answer, so never more than the origin can do: in time or not.
    done: [f64; TENANTS],
    in_time: f64,
}

impl Books {
    pub(super) fn new(weights: [u32; TENANTS], length: Duration) -> Self {
        Self {
            until: WARM_UP + length,
            weights,
            sent: [0.0; TENANTS],
            ok: [0.0; TENANTS],
            polite_ms: Vec::new(),
            done: [0.0; TENANTS],
            in_time: 0.0,
        }
    }

    fn counts(&self, at: Duration) -> bool {
        (WARM_UP..self.until).contains(&at)
    }

    pub(super) fn sent(&mut self, request: Request) {
        if self.counts(request.at) {
            self.sent[request.tenant] += f64::from(request.cost);
        }
    }

    pub(super) fn answered(&mut self, request: Request, now: Duration) {
        let (cost, in_time) = (f64::from(request.cost), now <= request.until);
        if self.counts(now) {
            self.done[request.tenant] += cost;
            self.in_time += if in_time { cost } else { 0.0 };
        }
        if !in_time || !self.counts(request.at) {
            return;
        }
        self.ok[request.tenant] += cost;
        if request.tenant != NOISY {
            let took = now - request.at;
            self.polite_ms.push(took.as_secs_f64() * 1e3);
        }
    }

    pub(super) fn figures(mut self) -> Figures {
        let length_s = (self.until - WARM_UP).as_secs_f64();
        let fair = fair_shares(&self.sent, &self.weights, CAPACITY_PER_S * length_s);
        // Who sent nothing was treated neither well nor badly.
        let shares: Vec<f64> = (0..TENANTS)
            .filter(|who| fair[*who] > 0.0)
            .map(|who| self.ok[who] / fair[who])
            .collect();
        let polite_sent: f64 = self.sent[..NOISY].iter().sum();
        let polite_p99_ms = match self.polite_ms.as_mut_slice() {
            [] => PATIENCE.as_secs_f64() * 1e3,
            answered => quantile(answered, 0.99),
        };
        let all: f64 = self.done.iter().sum();
        Figures {
            goodput_per_s: self.in_time / length_s,
            polite_ok: self.ok[..NOISY].iter().sum::<f64>() / polite_sent,
            polite_p99_ms,
            jain: jain(&shares),
            in_vain: 1.0 - self.in_time / all,
            share_of_last: self.done[NOISY] / all,
            share_of_even: self.done.iter().step_by(2).sum::<f64>() / all,
        }
    }
}
