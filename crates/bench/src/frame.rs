//! How a benchmark is measured: ours and theirs in turn, so that a noisy machine is noisy for both.

use std::fmt;
use std::time::{Duration, Instant};

/// A named list of metrics.
#[derive(Clone, Copy)]
pub struct Benchmark {
    /// What it is called by.
    pub name: &'static str,
    /// One sentence for the list.
    pub about: &'static str,
    /// Makes the metrics; nothing is measured yet.
    pub metrics: fn(Effort) -> Vec<Metric>,
}

/// How much patience the caller has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// For a first impression.
    Quick,
    /// For a number to be quoted.
    Full,
}

impl Effort {
    /// How often each side is measured.
    pub fn rounds(self) -> usize {
        match self {
            Self::Quick => 5,
            Self::Full => 31,
        }
    }

    /// How long the rounds of one metric may take together.
    pub fn limit(self) -> Duration {
        match self {
            Self::Quick => Duration::from_secs(3),
            Self::Full => Duration::MAX,
        }
    }

    /// A number of operations, cut down when quick.
    pub fn scaled(self, operations: usize) -> usize {
        match self {
            Self::Quick => operations.div_ceil(4),
            Self::Full => operations,
        }
    }
}

/// A cost, measured once per round: the less the better.
pub type Cost = Box<dyn FnMut() -> f64>;

/// One cost of ours against one of somebody else's, or against a budget.
pub struct Metric {
    /// What is measured.
    pub name: &'static str,
    /// Of both numbers.
    pub unit: &'static str,
    /// Our side.
    pub ours: Cost,
    /// The other side.
    pub peer: Peer,
    /// The highest ratio that is still a success; infinite where none is asked for.
    pub goal_ratio: f64,
}

/// What ours is held against.
pub enum Peer {
    /// Another implementation, measured in the same rounds.
    Rival {
        /// Its name.
        name: &'static str,
        /// Its cost.
        theirs: Cost,
    },
    /// A fixed allowance.
    Budget(f64),
}

impl Peer {
    fn name(&self) -> &'static str {
        match self {
            Self::Rival { name, .. } => name,
            Self::Budget(_) => "budget",
        }
    }

    fn cost(&mut self) -> f64 {
        match self {
            Self::Rival { theirs, .. } => theirs(),
            Self::Budget(allowance) => *allowance,
        }
    }
}

/// What came out of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was measured.
    pub metric: &'static str,
    /// Median of our rounds.
    pub ours: f64,
    /// Who was on the other side.
    pub peer: &'static str,
    /// Median of their rounds.
    pub theirs: f64,
    /// Median of the rounds' own ratios, ours to theirs: what both sides of a round suffered
    /// cancels out.
    pub ratio: f64,
    /// Of both costs.
    pub unit: &'static str,
    /// How often each side was measured.
    pub rounds: usize,
    /// How far the ratios of the rounds lie apart: (p90 − p10) ÷ median.
    pub spread: f64,
    /// Whether the ratio is within the goal.
    pub met: bool,
}

/// Measures a metric; `progress` is told each finished round.
pub fn measure(metric: Metric, rounds: usize, progress: impl FnMut(usize)) -> Outcome {
    measure_within(metric, rounds, Duration::MAX, progress)
}

/// A median and its spread need so many rounds, however long they take.
const ROUNDS_MIN: usize = 3;

/// The same, with fewer rounds where those so far have taken longer than the limit.
pub fn measure_within(
    mut metric: Metric,
    rounds: usize,
    limit: Duration,
    mut progress: impl FnMut(usize),
) -> Outcome {
    assert!(rounds > 0, "a median needs at least one round");
    // The first run pays for cold caches and lazy allocation; it is nobody's cost.
    (metric.ours)();
    metric.peer.cost();
    let began = Instant::now();
    let pairs: Vec<(f64, f64)> = (0..rounds)
        .take_while(|round| *round < ROUNDS_MIN || began.elapsed() < limit)
        .map(|round| {
            let pair = one_round(&mut metric, round);
            progress(round + 1);
            pair
        })
        .collect();
    let ratios = Quantiles::of(pairs.iter().map(|(ours, theirs)| ours / theirs));
    let ratio = ratios.at(0.5);
    Outcome {
        metric: metric.name,
        ours: Quantiles::of(pairs.iter().map(|pair| pair.0)).at(0.5),
        peer: metric.peer.name(),
        theirs: Quantiles::of(pairs.iter().map(|pair| pair.1)).at(0.5),
        ratio,
        unit: metric.unit,
        rounds: pairs.len(),
        spread: (ratios.at(0.9) - ratios.at(0.1)) / ratio,
        met: ratio <= metric.goal_ratio,
    }
}

/// Who goes first alternates, so that neither always finds the other's caches.
fn one_round(metric: &mut Metric, round: usize) -> (f64, f64) {
    if round.is_multiple_of(2) {
        let ours = (metric.ours)();
        (ours, metric.peer.cost())
    } else {
        let theirs = metric.peer.cost();
        ((metric.ours)(), theirs)
    }
}

/// Numbers in order.
pub(crate) struct Quantiles(Vec<f64>);

impl Quantiles {
    pub(crate) fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.collect();
        sorted.sort_unstable_by(f64::total_cmp);
        Self(sorted)
    }

    /// Interpolated between neighbours, so that a median of two is their middle.
    pub(crate) fn at(&self, q: f64) -> f64 {
        let at = q * (self.0.len() - 1) as f64;
        let (below, above) = (self.0[at.floor() as usize], self.0[at.ceil() as usize]);
        below + (above - below) * at.fract()
    }
}

impl fmt::Debug for Benchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Benchmark")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
