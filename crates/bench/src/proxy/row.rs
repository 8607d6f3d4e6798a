//! What one server needed in one case, and beside the others.

use serde::{Deserialize, Serialize};

use super::case::Case;
use crate::peers::Kind;
use crate::results::{Keyed, rounded, today};
use crate::sheet;
use crate::turns::{Measured, median};

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
    /// Lines written for each hundred requests, where lines were asked for.
    pub(super) logged_percent: Option<f64>,
    pub(super) rounds: usize,
    pub(super) measured: String,
}

impl Keyed for Row {
    fn key(&self) -> String {
        format!("{}/{}", self.case, self.server)
    }

    fn rows(all: &[Self]) -> Vec<sheet::Row> {
        all.iter().map(Self::told).collect()
    }
}

impl Row {
    /// Ours promises to cost no more than each of the others.
    fn told(&self) -> sheet::Row {
        let row = sheet::Row::new(&self.case, &self.server, self.each, &self.unit)
            .beside(Kind::Nginx.name(), self.to_nginx)
            .beside(Kind::Haproxy.name(), self.to_haproxy)
            .over(self.rounds, Some(self.spread));
        match self.server == Kind::Macronode.name() {
            true => row.at_most(1.0).failed(self.failures),
            false => row.failed(self.failures),
        }
    }
}

pub(super) fn rows(case: &Case, all: &[Measured]) -> Vec<Row> {
    let row = |measured: &Measured| {
        let own = &measured.samples;
        Row {
            case: case.name.to_owned(),
            server: measured.kind.name().to_owned(),
            unit: case.unit().to_owned(),
            each: rounded(measured.each().at(0.5)),
            to_nginx: measured.ratio_to(Kind::Nginx, all),
            to_haproxy: measured.ratio_to(Kind::Haproxy, all),
            spread: measured.spread(),
            per_s: median(own.iter().map(|sample| sample.per_s)),
            p50_us: median(own.iter().filter_map(|sample| sample.p50_us)),
            p99_us: median(own.iter().filter_map(|sample| sample.p99_us)),
            failures: own.iter().map(|sample| sample.failures).sum(),
            logged_percent: logged_percent(measured),
            rounds: own.len(),
            measured: today(),
        }
    };
    let some = all.iter().filter(|measured| !measured.samples.is_empty());
    some.map(row).collect()
}

/// Warm-ups write lines too, and are not counted: that all are there is all that can be said.
fn logged_percent(measured: &Measured) -> Option<f64> {
    let answers: u64 = measured.samples.iter().map(|sample| sample.answers).sum();
    let percent = measured.lines? as f64 * 100.0 / answers.max(1) as f64;
    Some(rounded(percent.min(100.0)))
}
