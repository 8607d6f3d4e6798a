//! The study in the form of every benchmark.

use super::crowd::{Crowd, Figures};
use super::{Curve, LOADS, Study};
use crate::frame::Outcome;
use crate::sheet::{Axis, Plot, Row, Series};

/// One row a metric, all queues and policies beside ours.
pub(super) fn rows(outcomes: &[Outcome]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for outcome in outcomes {
        let old = rows.iter().position(|row| row.metric == outcome.metric);
        let row = match old {
            Some(at) => rows.remove(at),
            None => Row::new(outcome.metric, "ours", outcome.ours, outcome.unit)
                .over(outcome.rounds, Some(outcome.spread)),
        };
        rows.push(row.beside(outcome.peer, Some(outcome.ratio)));
    }
    rows
}

pub(super) fn plots(study: &Study) -> Vec<Plot> {
    let plot = |title: &str, y: Axis, value: fn(&Figures) -> f64| Plot {
        title: title.to_owned(),
        note: "simulated: eight polite tenants and a noisy one before 32 places".to_owned(),
        x: Axis::log("offered load, in capacities"),
        y,
        lines: study
            .curves(Crowd::Noisy)
            .map(|curve| series(curve, value))
            .collect(),
        marks: Vec::new(),
    };
    vec![
        plot(
            "Queues under load: goodput",
            Axis::linear("answers in time a second"),
            |figures| figures.goodput_per_s,
        ),
        plot(
            "Queues under load: p99 of the polite",
            Axis::log("ms"),
            |figures| figures.polite_p99_ms,
        ),
    ]
}

fn series(curve: &Curve, value: fn(&Figures) -> f64) -> Series {
    let points = LOADS.into_iter().zip(curve.medians(value));
    Series {
        name: curve.discipline.name().to_owned(),
        points: points.filter(|(_, value)| value.is_finite()).collect(),
    }
}
