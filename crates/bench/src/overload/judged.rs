//! The rows in the form of every benchmark, held against what is promised.

use super::row::Row;
use super::scenario::Scenario;
use crate::peers::Kind;
use crate::sheet;

/// What a polite tenant may notice of others.
const OK_PERCENT: f64 = 99.9;
const P99_RATIO: f64 = 1.5;
const REFUSAL_MS: f64 = 5.0;

pub(super) fn rows(all: &[Row]) -> Vec<sheet::Row> {
    all.iter().flat_map(|row| of(row, all)).collect()
}

fn of(row: &Row, all: &[Row]) -> Vec<sheet::Row> {
    let named = |what: &str| format!("{}: {what}", row.scenario);
    let number = |what: &str, value: f64, unit: &str| {
        let made = sheet::Row::new(&named(what), &row.contender, value, unit);
        match row.valid {
            true => made,
            false => made.noted("INVALID: the generator was late"),
        }
    };
    let mut rows = Vec::new();
    if let Some(percent) = row.polite_ok_percent {
        let made = number("polite answered in time", percent, "%");
        rows.push(match promises(row) {
            true => made.promised("at least 99.9 %", row.valid && percent >= OK_PERCENT),
            false => made,
        });
    }
    if let Some(p99) = row.polite_p99_ms {
        let ratio = alone(row, all).map(|alone| p99 / alone);
        let made = number("p99 of the polite", p99, "ms").beside("itself alone (S0)", ratio);
        rows.push(match promises(row) && row.valid {
            true => made.at_most(P99_RATIO),
            false => made,
        });
    }
    rows.push(number("answers in time", row.goodput_per_s, "/s"));
    if let Some(refusal) = row.refusal_p99_ms {
        let made = number("p99 of refusals", refusal, "ms");
        let ten_times = row.scenario == Scenario::TenTimes.name() && is_ours(row);
        rows.push(match ten_times {
            true => made.promised("at most 5 ms", row.valid && refusal <= REFUSAL_MS),
            false => made,
        });
    }
    if let Some(refusal) = row.refusal_p999_ms {
        rows.push(number("p99.9 of refusals", refusal, "ms"));
    }
    rows
}

/// The promise is about one noisy tenant before an origin that stays as it is.
fn promises(row: &Row) -> bool {
    let noisy = [Scenario::OneNoisy, Scenario::EightNoisy, Scenario::TenTimes];
    is_ours(row) && noisy.iter().any(|noisy| noisy.name() == row.scenario)
}

fn is_ours(row: &Row) -> bool {
    row.contender.starts_with(Kind::Macronode.name())
}

fn alone(row: &Row, all: &[Row]) -> Option<f64> {
    let other = row.scenario != Scenario::Alone.name();
    let alone = all
        .iter()
        .find(|alone| alone.contender == row.contender && alone.scenario == Scenario::Alone.name());
    alone.filter(|_| other)?.polite_p99_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scenario: &str, p99: f64) -> Row {
        let text = format!(
            r#"{{"contender":"macronode limit=32","scenario":"{scenario}","polite_ok_percent":99.95,
            "polite_p50_ms":20.0,"polite_p99_ms":{p99},"goodput_per_s":1500.0,"capacity_percent":95.0,
            "refusal_p99_ms":4.0,"refusal_p999_ms":4.5,"timed_out_percent":0.0,"wasted_percent":0.0,
            "word_kept_at_once_percent":null,"word_kept_within_double_percent":null,"weight_ratio":null,
            "late_p99_ms":0.1,"valid":true,"measured":"2026-01-01"}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn met(rows: &[sheet::Row], metric: &str) -> Option<bool> {
        let row = rows.iter().find(|row| row.metric == metric).unwrap();
        row.goal.as_ref().map(|goal| goal.met)
    }

    #[test]
    fn noise_is_judged_by_what_the_same_server_does_alone() {
        let all = [row("S0", 20.0), row("S1", 31.0), row("S7", 29.0)];
        let rows = rows(&all);
        assert_eq!(met(&rows, "S0: p99 of the polite"), None);
        assert_eq!(met(&rows, "S1: p99 of the polite"), Some(false));
        assert_eq!(met(&rows, "S7: p99 of the polite"), Some(true));
        assert_eq!(met(&rows, "S1: polite answered in time"), Some(true));
        assert_eq!(met(&rows, "S7: p99 of refusals"), Some(true));
        assert_eq!(met(&rows, "S1: p99 of refusals"), None);
    }

    #[test]
    fn a_late_generator_keeps_no_promise_for_anybody() {
        let late = Row {
            valid: false,
            ..row("S7", 20.0)
        };
        let rows = rows(&[row("S0", 20.0), late]);
        assert_eq!(met(&rows, "S7: polite answered in time"), Some(false));
        assert_eq!(met(&rows, "S7: p99 of refusals"), Some(false));
        assert_eq!(met(&rows, "S7: p99 of the polite"), None);
    }
}
