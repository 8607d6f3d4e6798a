//! What one contender made of one scenario.

use serde::{Deserialize, Serialize};

use super::contender::Contender;
use super::scenario::{POLITE, Scenario, WEIGHTS};
use crate::load::open::Outcome;
use crate::load::tally::{Tally, quantile_ms};
use crate::results::{Keyed, rounded};
use crate::sheet;

/// A line of the table. A number that does not exist, such as the median of nothing, is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) contender: String,
    pub(super) scenario: String,
    pub(super) polite_ok_percent: Option<f64>,
    pub(super) polite_p50_ms: Option<f64>,
    pub(super) polite_p99_ms: Option<f64>,
    pub(super) goodput_per_s: f64,
    pub(super) capacity_percent: Option<f64>,
    pub(super) refusal_p99_ms: Option<f64>,
    #[serde(default)]
    pub(super) refusal_p999_ms: Option<f64>,
    pub(super) timed_out_percent: f64,
    /// Work the origin did for clients that had left, in percent of all it did.
    pub(super) wasted_percent: f64,
    /// Of those who came again when they were told to.
    pub(super) word_kept_at_once_percent: Option<f64>,
    pub(super) word_kept_within_double_percent: Option<f64>,
    /// What each of two others got, where there are two.
    #[serde(default)]
    pub(super) others_per_s: Option<(f64, f64)>,
    /// What the heavier tenant got for each of the lighter one.
    pub(super) weight_ratio: Option<f64>,
    pub(super) late_p99_ms: Option<f64>,
    /// Whether the generator kept its time.
    pub(super) valid: bool,
    pub(super) measured: String,
}

impl Keyed for Row {
    fn key(&self) -> String {
        format!("{}/{}", self.contender, self.scenario)
    }

    fn rows(all: &[Self]) -> Vec<sheet::Row> {
        super::judged::rows(all)
    }
}

impl Row {
    pub(super) fn new(
        contender: Contender,
        scenario: &Scenario,
        outcome: &Outcome,
        wasted_percent: f64,
    ) -> Self {
        let polite = outcome.stream(POLITE);
        let of_polite = |quantile| number(quantile_ms(&polite?.latency, quantile));
        let noisy = || {
            outcome
                .streams
                .iter()
                .filter(|stream| stream.name != POLITE)
        };
        let mut refusals = crate::load::tally::new_histogram();
        for stream in noisy() {
            // The bounds of all histograms are the same, so that one takes the other.
            let _ = refusals.add(&stream.refusal);
        }
        let sum = |of: fn(&Tally) -> u64| outcome.streams.iter().map(of).sum::<u64>();
        let tried = sum(|stream| stream.word.tried);
        let percent = |part: u64, whole: u64| {
            (whole > 0).then(|| rounded(part as f64 * 100.0 / whole as f64))
        };
        let goodput = outcome.goodput_per_s();
        let capacity = scenario.capacity_per_s();
        Self {
            contender: contender.name().to_owned(),
            scenario: scenario.name.to_owned(),
            polite_ok_percent: polite.map(|polite| rounded(polite.ok_percent())),
            polite_p50_ms: of_polite(0.5),
            polite_p99_ms: of_polite(0.99),
            goodput_per_s: rounded(goodput),
            capacity_percent: capacity.map(|capacity| rounded(goodput * 100.0 / capacity)),
            refusal_p99_ms: number(quantile_ms(&refusals, 0.99)),
            refusal_p999_ms: number(quantile_ms(&refusals, 0.999)),
            timed_out_percent: percent(
                sum(|stream| stream.timed_out + stream.lost),
                sum(|stream| stream.intended),
            )
            .unwrap_or(0.0),
            wasted_percent,
            word_kept_at_once_percent: percent(sum(|stream| stream.word.kept_at_once), tried),
            word_kept_within_double_percent: percent(
                sum(|stream| stream.word.kept_within_double),
                tried,
            ),
            others_per_s: others_per_s(outcome),
            weight_ratio: weight_ratio(outcome),
            late_p99_ms: number(outcome.late_p99_ms()),
            valid: outcome.is_valid(),
            measured: crate::results::today(),
        }
    }
}

fn others_per_s(outcome: &Outcome) -> Option<(f64, f64)> {
    let others = outcome.streams.iter();
    let others: Vec<&Tally> = others.filter(|stream| stream.name != POLITE).collect();
    let per_s = |stream: &Tally| rounded(stream.ok as f64 / outcome.window.as_secs_f64());
    match others[..] {
        [one, other] => Some((per_s(one), per_s(other))),
        _ => None,
    }
}

fn weight_ratio(outcome: &Outcome) -> Option<f64> {
    let [(heavy, _), (light, _)] = WEIGHTS;
    let (heavy, light) = (outcome.stream(heavy)?.ok, outcome.stream(light)?.ok);
    number(heavy as f64 / light as f64)
}

fn number(number: f64) -> Option<f64> {
    number.is_finite().then(|| rounded(number))
}
