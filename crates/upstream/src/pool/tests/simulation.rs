//! Breakers and balancers together, in a time of their own: no clock, no socket, one seed per run.

use testkit::sim;

use super::*;
use crate::cost::Latency;
use crate::record::{Admission, Record, Verdict};

/// A request and what will become of it.
struct Flight {
    endpoint: usize,
    admission: Admission,
    began: Duration,
    ends: Duration,
    verdict: Verdict,
}

struct Member {
    record: Record,
    latency: Latency,
    in_flight: u32,
    received: u64,
}

struct Model {
    now: Duration,
    members: Vec<Member>,
    shares: Vec<f32>,
    flights: Vec<Flight>,
}

impl Field for Model {
    fn len(&self) -> usize {
        self.members.len()
    }

    fn share(&self, index: usize) -> f32 {
        self.shares[index]
    }
}

/// Everything sent there is lost, and given up after this.
const BLACKHOLE: usize = 0;
const TIMEOUT: Duration = Duration::from_millis(50);

impl Model {
    fn new(members: usize) -> Self {
        let member = || Member {
            record: Record::new(crate::passive()),
            latency: Latency::UNKNOWN,
            in_flight: 0,
            received: 0,
        };
        Self {
            now: Duration::ZERO,
            members: (0..members).map(|_| member()).collect(),
            shares: vec![0.0; members],
            flights: Vec::new(),
        }
    }

    fn land(&mut self) {
        let (now, members) = (self.now, &mut self.members);
        self.flights.retain(|flight| {
            if flight.ends > now {
                return true;
            }
            let member = &mut members[flight.endpoint];
            member.in_flight -= 1;
            let took = flight.ends - flight.began;
            member.latency = match flight.verdict {
                Verdict::Success => member.latency.heard(now, took),
                _ => member.latency.failed(now, took),
            };
            member.record.settle(now, flight.admission, flight.verdict);
            false
        });
    }

    /// As [`Pool::pick`] does: a probe where one is due, else the balancer's choice.
    fn choose(&mut self, balance: Balance, turns: &mut Turns, rng: &mut Rng) -> (usize, Admission) {
        let now = self.now;
        for (index, member) in self.members.iter_mut().enumerate() {
            self.shares[index] = member.record.share(now);
            if let Some(admission) = member.record.probe(now, false) {
                return (index, admission);
            }
        }
        let cost = |index: usize| {
            let member = &self.members[index];
            member.latency.cost(now, member.in_flight)
        };
        let load = |index: usize| self.members[index].in_flight as f32 + 1.0;
        let chosen = match balance {
            Balance::RoundRobin => turns.next(self),
            Balance::LeastRequest => balance::least(self, load, rng),
            Balance::PeakEwma => balance::cheaper_by_share(self, cost, rng),
            Balance::Hash => balance::rendezvous(self, |index| index as u64, rng.u64(..)),
        };
        let index = chosen.expect("the others are well");
        let admission = Admission::of(self.members[index].record.epoch());
        (index, admission)
    }

    fn fly(&mut self, endpoint: usize, admission: Admission, rng: &mut Rng) {
        let member = &mut self.members[endpoint];
        member.in_flight += 1;
        member.received += 1;
        let (takes, verdict) = match endpoint {
            BLACKHOLE => (TIMEOUT, Verdict::Failure),
            _ => (Duration::from_micros(rng.u64(500..5000)), Verdict::Success),
        };
        self.flights.push(Flight {
            endpoint,
            admission,
            began: self.now,
            ends: self.now + takes,
            verdict,
        });
    }
}

// req: GW-11
// attack: K-10, K-19
#[test]
fn a_blackhole_among_others_gets_what_opens_its_breaker_and_then_the_probes() {
    let balances = [
        Balance::RoundRobin,
        Balance::LeastRequest,
        Balance::PeakEwma,
        Balance::Hash,
    ];
    sim::run("blackhole among others", 100, |rng| {
        let balance = balances[rng.usize(..balances.len())];
        let mut model = Model::new(rng.usize(2..6));
        let mut turns = Turns::default();
        let (mut sent, mut before_open) = (0, None);
        while model.now < Duration::from_secs(9) {
            model.now += Duration::from_millis(1);
            model.land();
            if model.members[BLACKHOLE].record.failures() >= 5 && before_open.is_none() {
                before_open = Some(model.members[BLACKHOLE].received);
            }
            let (endpoint, admission) = model.choose(balance, &mut turns, rng);
            model.fly(endpoint, admission, rng);
            sent += 1;
        }
        let received = model.members[BLACKHOLE].received;
        // A balancer that minds latency may leave it alone before that.
        let before_open = before_open.unwrap_or(received);
        assert!(before_open > 0, "{balance:?} never tried it");
        // Open for two seconds at a time, so at most one probe in each of them.
        assert!(
            received <= before_open + 5,
            "{balance:?}: {received} of {sent}"
        );
        assert!(
            before_open <= 60,
            "{balance:?}: {before_open} before it opened"
        );
    });
}
