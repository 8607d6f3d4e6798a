//! What became of each stream's requests.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

/// Longest latency told apart, in microseconds.
const LATENCY_MAX_US: u64 = 60_000_000;
/// What an origin says that has worked on a request and failed; no server here refuses one with it.
const ORIGIN_FAILED: u16 = 500;

/// Microseconds, three digits.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_MAX_US, 3).expect("the bounds are valid")
}

/// Adds a time to a histogram of microseconds.
pub fn record(histogram: &mut Histogram<u64>, time: Duration) {
    histogram.saturating_record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
}

/// A quantile in milliseconds; not a number when nothing was recorded.
pub fn quantile_ms(histogram: &Histogram<u64>, quantile: f64) -> f64 {
    match histogram.is_empty() {
        true => f64::NAN,
        false => histogram.value_at_quantile(quantile) as f64 / 1e3,
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With an answer.
    Answered {
        /// Its status.
        status: u16,
    },
    /// The client left before.
    TimedOut,
    /// The connection was lost or could not be opened.
    Lost,
}

/// One stream's requests.
#[derive(Clone, Debug)]
pub struct Tally {
    /// The stream's.
    pub name: String,
    /// Requests that were to leave.
    pub intended: u64,
    /// Answers below 400, in time.
    pub ok: u64,
    /// Other answers.
    pub refused: BTreeMap<u16, u64>,
    /// Requests given up.
    pub timed_out: u64,
    /// Requests without an answer.
    pub lost: u64,
    /// Of the answers below 400, from the intended instant.
    pub latency: Histogram<u64>,
    /// Of the refusals, from the real sending: it is the server's quickness that is asked for, not the origin's.
    pub refusal: Histogram<u64>,
    /// What became of those who were told when to come again.
    pub word: Word,
    /// What became of the requests of each tenth of a second, by their intended instants and from the very start.
    pub moments: Vec<Moment>,
}

/// How long a moment is.
pub const MOMENT: Duration = Duration::from_millis(100);

/// The requests of a tenth of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Answered below 400, in time.
    pub ok: u64,
    /// Answered otherwise.
    pub refused: u64,
    /// Given up, or without an answer.
    pub lost: u64,
}

/// Whether a `Retry-After` was true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Refusals that said when to come again.
    pub given: u64,
    /// Those who came again exactly then, and what became of them is known.
    pub tried: u64,
    /// Those of them who were answered at the first try.
    pub kept_at_once: u64,
    /// Those who were answered, counted from the refusal, within twice the time said.
    pub kept_within_double: u64,
}

impl Tally {
    /// Nothing yet.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            intended: 0,
            ok: 0,
            refused: BTreeMap::new(),
            timed_out: 0,
            lost: 0,
            latency: new_histogram(),
            refusal: new_histogram(),
            word: Word::default(),
            moments: Vec::new(),
        }
    }

    /// Notes in its moment what became of a request.
    pub fn mark(&mut self, end: End, intended: Duration) {
        let at = (intended.as_micros() / MOMENT.as_micros()) as usize;
        if self.moments.len() <= at {
            self.moments.resize(at + 1, Moment::default());
        }
        let moment = &mut self.moments[at];
        match end {
            End::Answered { status } if status < 400 => moment.ok += 1,
            End::Answered { .. } => moment.refused += 1,
            End::TimedOut | End::Lost => moment.lost += 1,
        }
    }

    /// Adds a request that ended: `since_intended` and `since_sent` say how long it took.
    pub fn add(&mut self, end: End, since_intended: Duration, since_sent: Duration) {
        self.intended += 1;
        match end {
            End::Answered { status } if status < 400 => {
                self.ok += 1;
                record(&mut self.latency, since_intended);
            }
            End::Answered { status } => {
                *self.refused.entry(status).or_default() += 1;
                if status != ORIGIN_FAILED {
                    record(&mut self.refusal, since_sent);
                }
            }
            End::TimedOut => self.timed_out += 1,
            End::Lost => self.lost += 1,
        }
    }

    /// The part of the intended requests that went well, in percent.
    pub fn ok_percent(&self) -> f64 {
        self.ok as f64 * 100.0 / self.intended.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_origin_says_of_itself_is_no_refusal_of_who_stands_before_it() {
        let mut tally = Tally::new("all");
        let ms = Duration::from_millis;
        tally.add(End::Answered { status: 429 }, ms(1), ms(1));
        tally.add(End::Answered { status: 500 }, ms(66), ms(66));
        assert_eq!(tally.refused.len(), 2);
        assert_eq!(tally.refusal.len(), 1, "worked on, and not turned away");
    }

    #[test]
    fn a_request_counts_in_the_moment_it_was_meant_for() {
        let mut tally = Tally::new("all");
        let ms = Duration::from_millis;
        tally.mark(End::Answered { status: 200 }, ms(99));
        tally.mark(End::Answered { status: 503 }, ms(250));
        tally.mark(End::Lost, ms(299));
        tally.mark(End::TimedOut, ms(200));
        let [first, none, third] = tally.moments.as_slice() else {
            panic!("{:?}", tally.moments)
        };
        assert_eq!((first.ok, *none), (1, Moment::default()));
        assert_eq!((third.ok, third.refused, third.lost), (0, 1, 2));
    }
}
