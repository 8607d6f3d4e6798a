//! What one setup did under one load, beside another on as many cores.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::Sample;
use super::setup::Setup;
use crate::frame::Quantiles;
use crate::load::tally::{new_histogram, quantile_ms};
use crate::results::{Keyed, rounded};
use crate::sheet::{Axis, Plot, Row, Series};
use crate::turns::median;

/// Each with its name.
pub(super) const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
/// Where `p99` stands among them.
const TAIL: usize = 2;
const BINS_A_DECADE: f64 = 12.0;
/// Of the other's: what is not at least so much better is not worth another mode.
const WINS: f64 = 0.8;

/// One number of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Figure {
    /// The median of the rounds.
    pub(super) value: f64,
    /// To the other's, the median of the rounds' own ratios.
    pub(super) ratio: Option<f64>,
    /// (p90 − p10) ÷ median.
    pub(super) spread: f64,
}

/// One setup under one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Cell {
    pub(super) setup: String,
    pub(super) beside: Option<String>,
    /// Requests a second.
    pub(super) rate: u32,
    /// Milliseconds, one for each of [`QUANTILES`].
    pub(super) latency: Vec<Figure>,
    /// Microseconds of the server's, a request.
    pub(super) cost: Figure,
    /// Milliseconds, and the part of all requests that took so long, in percent.
    pub(super) histogram: Vec<(f64, f64)>,
    pub(super) requests: u64,
    pub(super) failures: u64,
    pub(super) late_rounds: usize,
    pub(super) rounds: usize,
}

/// One for each setup; each has its samples in the order of the rounds.
pub(super) fn cells(setups: &[Setup], rate: u32, samples: &[Vec<Sample>]) -> Vec<Cell> {
    let all = || setups.iter().zip(samples);
    let cell = |(setup, own): (&Setup, &Vec<Sample>)| {
        let other = setup.beside();
        let theirs = all().find(|(setup, _)| Some(**setup) == other);
        let figure = |of: &dyn Fn(&Sample) -> f64| figure(of, own, theirs.map(|(_, their)| their));
        let whole = merged(own);
        Cell {
            setup: setup.name().to_owned(),
            beside: theirs.map(|(setup, _)| setup.name().to_owned()),
            rate,
            latency: QUANTILES
                .map(|(_, quantile)| figure(&|sample| quantile_ms(&sample.latency, quantile)))
                .to_vec(),
            cost: figure(&|sample| sample.cost),
            histogram: bins(&whole),
            requests: whole.len(),
            failures: own.iter().map(|sample| sample.failures).sum(),
            late_rounds: own.iter().filter(|sample| !sample.is_valid).count(),
            rounds: own.len(),
        }
    };
    all().map(cell).collect()
}

fn figure(of: &dyn Fn(&Sample) -> f64, own: &[Sample], theirs: Option<&Vec<Sample>>) -> Figure {
    let quantiles = Quantiles::of(own.iter().map(of));
    let ratio = theirs.and_then(|theirs| {
        let pairs = own.iter().zip(theirs);
        median(pairs.map(|(own, their)| of(own) / of(their)))
    });
    Figure {
        value: rounded(quantiles.at(0.5)),
        ratio,
        spread: rounded((quantiles.at(0.9) - quantiles.at(0.1)) / quantiles.at(0.5)),
    }
}

fn merged(samples: &[Sample]) -> Histogram<u64> {
    let mut whole = new_histogram();
    for sample in samples {
        whole += &sample.latency;
    }
    whole
}

/// Bins of equal width on a logarithmic axis, without a gap between the first and the last.
fn bins(latency: &Histogram<u64>) -> Vec<(f64, f64)> {
    let bin = |micros: u64| ((micros.max(1) as f64).log10() * BINS_A_DECADE).floor() as usize;
    let mut counts = vec![0; bin(latency.max()) + 1];
    for step in latency.iter_recorded() {
        let at = bin(step.value_iterated_to()).min(counts.len() - 1);
        counts[at] += step.count_at_value();
    }
    let middle = |bin: usize| 10_f64.powf((bin as f64 + 0.5) / BINS_A_DECADE) / 1e3;
    let part = |count: u64| count as f64 * 100.0 / latency.len().max(1) as f64;
    let filled = counts.iter().enumerate();
    filled
        .skip_while(|(_, count)| **count == 0)
        .map(|(bin, count)| (rounded(middle(bin)), rounded(part(*count))))
        .collect()
}

impl Cell {
    /// Whether it is clearly better than what it stands beside, and in nothing worse.
    pub(super) fn wins(&self) -> Option<bool> {
        let (cost, tail) = (self.cost.ratio?, self.latency.get(TAIL)?.ratio?);
        Some(cost.min(tail) <= WINS && cost.max(tail) <= 1.0)
    }

    /// What is wrong with it.
    pub(super) fn flaw(&self) -> Option<String> {
        match (self.failures, self.late_rounds) {
            (0, 0) => None,
            (0, late) => Some(format!("INVALID: the generator was late in {late} rounds")),
            (failures, _) => Some(format!("INVALID: {failures} requests went wrong")),
        }
    }

    fn row(&self, metric: &str, figure: &Figure, unit: &str) -> Row {
        let metric = format!("{metric} at {}/s", self.rate);
        let row = Row::new(&metric, &self.setup, figure.value, unit)
            .over(self.rounds, Some(figure.spread))
            .noted(self.flaw().unwrap_or_default());
        match &self.beside {
            Some(other) => row.beside(other, figure.ratio),
            None => row,
        }
    }
}

impl Keyed for Cell {
    fn key(&self) -> String {
        format!("{}/{}", self.rate, self.setup)
    }

    fn rows(all: &[Self]) -> Vec<Row> {
        let of = |cell: &Cell| -> Vec<Row> {
            let latency = QUANTILES.iter().zip(&cell.latency);
            let latency = latency.map(|((name, _), figure)| cell.row(name, figure, "ms"));
            let cost = cell.row("processor time of a request", &cell.cost, "µs");
            latency.chain([cost]).collect()
        };
        crate::sheet::by_metric(all.iter().flat_map(of).collect())
    }

    fn plots(all: &[Self]) -> Vec<Plot> {
        let mut rates: Vec<u32> = all.iter().map(|cell| cell.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        let line = |cell: &Cell| Series {
            name: cell.setup.clone(),
            points: cell.histogram.clone(),
        };
        let plot = |rate: u32| Plot {
            title: format!("Latency of the runtimes at {rate} requests a second"),
            note: "how many of a hundred requests took how long".to_owned(),
            x: Axis::log("ms from the intended instant"),
            y: Axis::linear("% of requests"),
            lines: all
                .iter()
                .filter(|cell| cell.rate == rate)
                .map(line)
                .collect(),
            marks: Vec::new(),
        };
        rates.into_iter().map(plot).collect()
    }
}

#[cfg(test)]
mod tests;
