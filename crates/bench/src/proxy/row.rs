//! What one server needed in one case, and beside the others.

use serde::{Deserialize, Serialize};

use super::Sample;
use super::case::Case;
use crate::frame::Quantiles;
use crate::peers::Kind;
use crate::results::{Keyed, rounded, today};

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) case: String,
    pub(super) server: String,
    pub(super) unit: String,
    /// A request, the median of the rounds.
    pub(super) each: f64,
    /// Medians of the rounds' own ratios: what both sides of a round suffered cancels out.
    pub(super) to_nginx: Option<f64>,
    pub(super) to_haproxy: Option<f64>,
    /// How far the rounds lie apart: (p90 − p10) ÷ median.
    pub(super) spread: f64,
    pub(super) per_s: Option<f64>,
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
    pub(super) failures: u64,
    pub(super) rounds: usize,
    pub(super) measured: String,
}

impl Keyed for Row {
    fn key(&self) -> String {
        format!("{}/{}", self.case, self.server)
    }
}

pub(super) fn rows(case: &Case, samples: Vec<(Kind, Vec<Sample>)>) -> Vec<Row> {
    let of = |kind: Kind| {
        let found = samples.iter().find(|(other, _)| *other == kind);
        found.map(|(_, samples)| samples.as_slice())
    };
    let row = |(kind, own): &(Kind, Vec<Sample>)| {
        let to = |other: Kind| ratio(own, of(other).filter(|_| other != *kind)?);
        let each = Quantiles::of(own.iter().map(|sample| sample.each));
        let spread = (each.at(0.9) - each.at(0.1)) / each.at(0.5);
        Row {
            case: case.name.to_owned(),
            server: kind.name().to_owned(),
            unit: case.unit().to_owned(),
            each: rounded(each.at(0.5)),
            to_nginx: to(Kind::Nginx),
            to_haproxy: to(Kind::Haproxy),
            spread: rounded(spread),
            per_s: median(own.iter().map(|sample| sample.per_s)),
            p50_us: median(own.iter().filter_map(|sample| sample.p50_us)),
            p99_us: median(own.iter().filter_map(|sample| sample.p99_us)),
            failures: own.iter().map(|sample| sample.failures).sum(),
            rounds: own.len(),
            measured: today(),
        }
    };
    samples
        .iter()
        .filter(|(_, own)| !own.is_empty())
        .map(row)
        .collect()
}

fn ratio(own: &[Sample], others: &[Sample]) -> Option<f64> {
    let pairs = own.iter().zip(others);
    median(pairs.map(|(own, other)| own.each / other.each))
}

/// Of nothing there is none.
fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let numbers: Vec<f64> = numbers.filter(|number| number.is_finite()).collect();
    (!numbers.is_empty()).then(|| rounded(Quantiles::of(numbers.into_iter()).at(0.5)))
}
