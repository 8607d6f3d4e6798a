//! The rows in the form of every benchmark, held against what is promised.

use super::row::Row;
use super::scenario::{ALONE, NOTHING, Promise, Scenario, WEIGHTS};
use crate::peers::Kind;
use crate::results::rounded;
use crate::sheet;

/// How far from their weights tenants may be served.
const WEIGHTS_PERCENT: f64 = 5.0;
/// How many of those who came within twice the time they were told have to be served.
const WORD_KEPT_PERCENT: f64 = 95.0;

pub(super) fn rows(all: &[Row]) -> Vec<sheet::Row> {
    all.iter().flat_map(|row| of(row, all)).collect()
}

fn of(row: &Row, all: &[Row]) -> Vec<sheet::Row> {
    let number = |what: &str, value: Option<f64>, unit: &str| {
        let metric = format!("{}: {what}", row.scenario);
        let made = sheet::Row::new(&metric, &row.contender, value?, unit);
        Some(match row.valid {
            true => made,
            false => made.noted("INVALID: the generator was late"),
        })
    };
    let promise = promise(row);
    let at_least = |made, least| judged(row, made, Bound::AtLeast(least));
    let at_most = |made, most| judged(row, made, Bound::AtMost(most));
    let p99 = number("p99 of the polite", row.polite_p99_ms, "ms");
    let p99 = p99.map(|made| made.beside("itself alone (S0)", above_alone(row, all)));
    let weights = row.weight_ratio.map(off_weights_percent);
    let word = row.word_kept_within_double_percent;
    [
        at_least(
            number("polite answered in time", row.polite_ok_percent, "%"),
            promise.polite_ok_percent,
        ),
        at_most(
            number("p50 of the polite", row.polite_p50_ms, "ms"),
            promise.polite_p50_ms,
        ),
        at_most(p99, promise.polite_p99_ms),
        at_least(
            number(
                "answers in time, of what is possible",
                row.capacity_percent,
                "%",
            ),
            promise.goodput_percent,
        ),
        number("answers in time", Some(row.goodput_per_s), "/s"),
        at_most(
            number("p99 of refusals", row.refusal_p99_ms, "ms"),
            promise.refusal_p99_ms,
        ),
        number("p99.9 of refusals", row.refusal_p999_ms, "ms"),
        at_most(
            number("off what the weights say", weights, "%"),
            is_ours(row).then_some(WEIGHTS_PERCENT),
        ),
        at_least(
            number("served within twice the Retry-After", word, "%"),
            is_ours(row).then_some(WORD_KEPT_PERCENT),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Which way a number should lie.
#[derive(Clone, Copy)]
enum Bound {
    AtLeast(Option<f64>),
    AtMost(Option<f64>),
}

/// Held against its bound where there is one; a generator that was late keeps no promise for anybody.
fn judged(row: &Row, made: Option<sheet::Row>, bound: Bound) -> Option<sheet::Row> {
    let made = made?;
    let (words, kept) = match bound {
        Bound::AtLeast(Some(least)) => (format!("at least {least}"), made.value >= least),
        Bound::AtMost(Some(most)) => (format!("at most {most}"), made.value <= most),
        Bound::AtLeast(None) | Bound::AtMost(None) => return Some(made),
    };
    let words = format!("{words} {}", made.unit);
    Some(made.promised(&words, row.valid && kept))
}

/// Others promised nothing.
fn promise(row: &Row) -> Promise {
    let scenario = Scenario::of(&row.scenario).filter(|_| is_ours(row));
    scenario.map_or(NOTHING, |scenario| scenario.promise)
}

fn is_ours(row: &Row) -> bool {
    row.contender.starts_with(Kind::Macronode.name())
}

fn above_alone(row: &Row, all: &[Row]) -> Option<f64> {
    let other = row.scenario != ALONE;
    let alone = all
        .iter()
        .find(|alone| alone.contender == row.contender && alone.scenario == ALONE);
    Some(row.polite_p99_ms? / alone.filter(|_| other)?.polite_p99_ms?)
}

fn off_weights_percent(served: f64) -> f64 {
    let [(_, heavy), (_, light)] = WEIGHTS;
    let due = f64::from(heavy) / f64::from(light);
    rounded((served / due - 1.0).abs() * 100.0)
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
    fn each_scenario_is_judged_by_what_is_promised_of_it() {
        let all = [
            row("S0", 20.0),
            row("S1", 31.0),
            row("S7", 29.0),
            row("S4", 31.0),
        ];
        let rows = rows(&all);
        assert_eq!(met(&rows, "S0: p99 of the polite"), None);
        assert_eq!(met(&rows, "S1: p99 of the polite"), Some(false));
        assert_eq!(met(&rows, "S7: p99 of the polite"), Some(true));
        assert_eq!(met(&rows, "S4: p99 of the polite"), Some(true));
        assert_eq!(met(&rows, "S1: polite answered in time"), Some(true));
        assert_eq!(
            met(&rows, "S1: answers in time, of what is possible"),
            Some(true)
        );
        assert_eq!(met(&rows, "S7: p99 of refusals"), Some(true));
    }

    #[test]
    fn weights_and_words_are_promised_wherever_they_are_measured() {
        let mut one = row("S10", 20.0);
        (one.weight_ratio, one.word_kept_within_double_percent) = (Some(3.7), Some(96.0));
        let rows = rows(&[one]);
        assert_eq!(met(&rows, "S10: off what the weights say"), Some(false));
        assert_eq!(
            met(&rows, "S10: served within twice the Retry-After"),
            Some(true)
        );
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
        assert_eq!(met(&rows, "S7: p99 of the polite"), Some(false));
    }

    #[test]
    fn others_promise_nothing() {
        let peer = Row {
            contender: "HAProxy expert".to_owned(),
            ..row("S1", 500.0)
        };
        assert!(rows(&[peer]).iter().all(|row| row.goal.is_none()));
    }
}
