//! Servers measured in turns: what the machine does to one round it does to everybody in it.

use std::time::Duration;

use crate::circumstances;
use crate::frame::{Effort, Quantiles};
use crate::load::closed::{self, Plan};
use crate::load::tally::quantile_ms;
use crate::peers::{Kind, Running};
use crate::results::rounded;

/// How long and how often each server is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    pub(crate) rounds: usize,
    pub(crate) length: Duration,
}

/// One turn of one server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Of the case's unit, a request.
    pub(crate) each: f64,
    pub(crate) per_s: f64,
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) answers: u64,
    pub(crate) failures: u64,
}

/// What came of all turns of one server.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) kind: Kind,
    pub(crate) samples: Vec<Sample>,
    /// Lines it wrote meanwhile, where it was asked to.
    pub(crate) lines: Option<u64>,
}

impl Turns {
    pub(crate) fn of(effort: Effort) -> Self {
        match effort {
            Effort::Quick => Self {
                rounds: 5,
                length: Duration::from_millis(200),
            },
            Effort::Full => Self {
                rounds: 9,
                length: Duration::from_secs(1),
            },
        }
    }

    /// Rounds over all servers, which come back. One that fails is left out from then on, and said to be.
    pub(crate) fn take(
        self,
        servers: Vec<(Kind, Running)>,
        sample: impl Fn(Kind, &Running) -> Result<Sample, String>,
    ) -> Vec<(Running, Measured)> {
        let fresh = |(kind, server)| (server, Measured::new(kind));
        let mut taking: Vec<(Running, Measured)> = servers.into_iter().map(fresh).collect();
        // The first turn pays for cold caches and fresh connections; it is nobody's cost.
        for round in 0..=self.rounds {
            // Who begins changes, so that nobody always finds another's caches.
            let next = taking.len().min(1);
            taking.rotate_left(next);
            taking.retain_mut(|(server, measured)| match sample(measured.kind, server) {
                Ok(sample) => {
                    measured.samples.extend((round > 0).then_some(sample));
                    true
                }
                Err(error) => {
                    circumstances::absent(&format!(
                        "{} is left out: {error}",
                        measured.kind.name()
                    ));
                    false
                }
            });
        }
        taking.sort_unstable_by_key(|(_, measured)| measured.kind);
        taking
    }
}

impl Measured {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            samples: Vec::new(),
            lines: None,
        }
    }

    /// Counted once, in a run of its own.
    pub(crate) fn once(kind: Kind, sample: Sample) -> Self {
        Self {
            samples: vec![sample],
            ..Self::new(kind)
        }
    }

    /// The quantiles of what a request took.
    pub(crate) fn each(&self) -> Quantiles {
        Quantiles::of(self.samples.iter().map(|sample| sample.each))
    }

    /// How far the rounds lie apart: (p90 − p10) ÷ median.
    pub(crate) fn spread(&self) -> f64 {
        let each = self.each();
        rounded((each.at(0.9) - each.at(0.1)) / each.at(0.5))
    }

    /// The median of the rounds' own ratios: what both sides of a round suffered cancels out.
    pub(crate) fn ratio_to(&self, kind: Kind, all: &[Measured]) -> Option<f64> {
        let other = all.iter().find(|other| other.kind == kind)?;
        let pairs = self.samples.iter().zip(&other.samples);
        let ratios = pairs.map(|(own, other)| own.each / other.each);
        (kind != self.kind).then(|| median(ratios)).flatten()
    }
}

/// One run of a closed loop, by the server's own processor time.
pub(crate) fn closed(server: &Running, plan: &Plan) -> Result<Sample, String> {
    let outcome = closed::run(plan, || server.cpu_time()).map_err(|error| error.to_string())?;
    let micros = |quantile| Some(quantile_ms(&outcome.latency, quantile) * 1e3);
    Ok(Sample {
        each: outcome.micros_each(),
        per_s: outcome.answers as f64 / outcome.elapsed.as_secs_f64(),
        p50_us: micros(0.5),
        p99_us: micros(0.99),
        answers: outcome.answers,
        failures: outcome.failures,
    })
}

/// Says what is missing and goes on with what is there.
pub(crate) fn told<T>(
    tried: impl IntoIterator<Item = (Kind, Result<T, String>)>,
) -> Vec<(Kind, T)> {
    let mut there = Vec::new();
    for (kind, tried) in tried {
        match tried {
            Ok(value) => there.push((kind, value)),
            Err(sentence) => circumstances::absent(&sentence),
        }
    }
    there
}

/// Of nothing there is none.
pub(crate) fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let numbers: Vec<f64> = numbers.filter(|number| number.is_finite()).collect();
    (!numbers.is_empty()).then(|| rounded(Quantiles::of(numbers.into_iter()).at(0.5)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_server_leaves_the_others() {
        let tried = [
            (Kind::Nginx, Err("not installed".to_owned())),
            (Kind::Haproxy, Ok(1)),
        ];
        assert_eq!(told(tried), [(Kind::Haproxy, 1)]);
    }

    #[test]
    fn nobody_is_compared_with_itself_or_with_who_is_not_there() {
        let sample = |each: f64| Sample {
            each,
            per_s: 1e6 / each,
            p50_us: None,
            p99_us: None,
            answers: 1,
            failures: 0,
        };
        let all = [(Kind::Nginx, 10.0), (Kind::Macronode, 5.0)];
        let all = all.map(|(kind, each)| Measured::once(kind, sample(each)));
        assert_eq!(all[1].ratio_to(Kind::Nginx, &all), Some(0.5));
        assert_eq!(all[1].ratio_to(Kind::Macronode, &all), None);
        assert_eq!(all[1].ratio_to(Kind::Haproxy, &all), None);
    }
}
