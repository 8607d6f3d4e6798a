//! Requests that leave when they are due, whatever became of the earlier ones.

mod crowd;
mod due;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::tally::{Tally, quantile_ms};

/// One client's requests.
#[derive(Clone, Debug)]
pub struct Stream {
    /// What it is called in the report.
    pub name: String,
    /// How often it asks.
    pub rate_per_s: f64,
    /// When it does.
    pub rhythm: Rhythm,
    /// When it stops, counted from the start; at the end at the latest.
    pub until: Duration,
    /// Its request.
    pub request: Vec<u8>,
    /// Where it comes from.
    pub source: Ipv4Addr,
    /// Whether it comes again when it was told when; at most so often.
    pub retries: u8,
    /// After how long it leaves, where that is sooner than the plan says.
    pub haste: Option<Duration>,
}

impl Stream {
    /// At equal distances until the load ends, and never again where it was refused.
    pub fn steady(name: &str, rate_per_s: f64, request: Vec<u8>, source: Ipv4Addr) -> Self {
        Self {
            name: name.to_owned(),
            rate_per_s,
            rhythm: Rhythm::Steady,
            until: Duration::MAX,
            request,
            source,
            retries: 0,
            haste: None,
        }
    }
}

/// When requests of a rate come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// At equal distances.
    Steady,
    /// So within bursts, and not between them.
    Bursts(Bursts),
    /// As those of many who know nothing of each other: each at any moment as likely as at any other.
    Chance,
}

/// Requests that come for a while at the beginning of each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// From one beginning to the next.
    pub period: Duration,
    /// For how long.
    pub length: Duration,
}

impl Bursts {
    /// When what would come then comes, if time stood still between bursts.
    fn at(self, then: Duration) -> Duration {
        let length = self.length.as_nanos().max(1);
        let (before, since) = (then.as_nanos() / length, then.as_nanos() % length);
        self.period * before as u32 + Duration::from_nanos(since as u64)
    }
}

/// A load on one address.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whom to ask.
    pub target: SocketAddr,
    /// Who asks.
    pub streams: Vec<Stream>,
    /// Requests intended before this are not counted.
    pub warm_up: Duration,
    /// For how long requests are sent, warm-up included.
    pub length: Duration,
    /// After how long, counted from the intended instant, a client leaves.
    pub patience: Duration,
    /// Connections at most; a request beyond them is lost.
    pub connections_max: usize,
}

/// What became of a load.
#[derive(Debug)]
pub struct Outcome {
    /// One for each stream.
    pub streams: Vec<Tally>,
    /// How late requests left, in microseconds: the generator's own fault.
    pub lateness: Histogram<u64>,
    /// For how long was counted.
    pub window: Duration,
    /// How many connections were opened.
    pub connections: u64,
    /// Answers below 400, in time, that came while it was counted; whenever they were asked for.
    pub answered: u64,
}

/// Later than this at the 99th percentile, and the generator measured itself.
const LATE_MS: f64 = 5.0;

impl Outcome {
    /// Sends, and waits for the last answer.
    pub fn of(plan: &Plan) -> io::Result<Self> {
        crowd::run(plan)
    }

    /// The stream of this name.
    pub fn stream(&self, name: &str) -> Option<&Tally> {
        self.streams.iter().find(|stream| stream.name == name)
    }

    /// Answers below 400 in time, of all streams.
    pub fn goodput_per_s(&self) -> f64 {
        self.answered as f64 / self.window.as_secs_f64()
    }

    /// How late the generator was.
    pub fn late_p99_ms(&self) -> f64 {
        quantile_ms(&self.lateness, 0.99)
    }

    /// Whether the numbers are the server's and not the generator's.
    pub fn is_valid(&self) -> bool {
        self.late_p99_ms() <= LATE_MS
    }
}

#[cfg(test)]
mod tests;
