//! The rows for people: aligned in a terminal, or as a page.

use std::fmt::Write;

use super::contender::Contender;
use super::row::Row;
use super::scenario::{self, Scenario};

const COLUMNS: [&str; 9] = [
    "polite ok %",
    "p50 ms",
    "p99 ms",
    "goodput/s",
    "% of capacity",
    "refusal p99 ms",
    "gave up %",
    "wasted %",
    "late ms",
];

/// Scenario by scenario, with a line break at the end.
pub(super) fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    for (scenario, rows) in by_scenario(rows) {
        push(
            &mut out,
            format_args!("{}: {}\n", scenario.name, scenario.about),
        );
        let heads: String = COLUMNS.iter().map(|head| format!("{head:>15}")).collect();
        push(&mut out, format_args!("  {:<20}{heads}\n", ""));
        for row in rows {
            let cells: String = cells(row)
                .iter()
                .map(|cell| format!("{cell:>15}"))
                .collect();
            let note = note(row);
            push(
                &mut out,
                format_args!("  {:<20}{cells}{note}\n", row.contender),
            );
        }
    }
    out
}

/// The same for the page.
pub(super) fn markdown(rows: &[Row]) -> String {
    let mut out = String::new();
    for (scenario, rows) in by_scenario(rows) {
        push(
            &mut out,
            format_args!("### {}: {}\n\n", scenario.name, scenario.about),
        );
        push(&mut out, format_args!("| | {} |\n", COLUMNS.join(" | ")));
        push(
            &mut out,
            format_args!("|---|{}\n", "---:|".repeat(COLUMNS.len())),
        );
        for row in rows {
            let (cells, note) = (cells(row).join(" | "), note(row));
            push(
                &mut out,
                format_args!("| {}{note} | {cells} |\n", row.contender),
            );
        }
        out.push('\n');
    }
    out.push_str(&where_not(rows));
    out.push_str("The configs:\n\n");
    for contender in Contender::ALL {
        push(
            &mut out,
            format_args!("- {}: {}.\n", contender.name(), contender.about()),
        );
    }
    out
}

/// Below this, in parts of the better one, two numbers are the same.
const SAME: f64 = 0.02;

/// Where the best of the others does better than ours: every such number, or that there is none.
fn where_not(rows: &[Row]) -> String {
    let mut out = format!(
        "Where {} does better than ours, by more than {:.0} %:\n\n",
        Contender::HaproxyExpert.name(),
        SAME * 100.0
    );
    let before = out.len();
    for (scenario, rows) in by_scenario(rows) {
        let of = |contender: Contender| rows.iter().find(|row| row.contender == contender.name());
        let Some(peer) = of(Contender::HaproxyExpert) else {
            continue;
        };
        let ours = [Contender::OursLimited, Contender::OursFound].map(of);
        for ours in ours.into_iter().flatten() {
            for (what, ours_is, peer_is) in worse(ours, peer) {
                push(
                    &mut out,
                    format_args!(
                        "- {}, {}: {what} {ours_is:.1}, theirs {peer_is:.1}.\n",
                        scenario.name, ours.contender
                    ),
                );
            }
        }
    }
    if out.len() == before {
        out.push_str("- nowhere.\n");
    }
    out.push('\n');
    out
}

/// What of ours is worse, ours and theirs.
fn worse(ours: &Row, peer: &Row) -> Vec<(&'static str, f64, f64)> {
    let more_is_better = [
        (
            "polite ok %",
            ours.polite_ok_percent,
            peer.polite_ok_percent,
        ),
        (
            "goodput/s",
            Some(ours.goodput_per_s),
            Some(peer.goodput_per_s),
        ),
    ];
    let less_is_better = [
        ("p50 ms", ours.polite_p50_ms, peer.polite_p50_ms),
        ("p99 ms", ours.polite_p99_ms, peer.polite_p99_ms),
        ("refusal p99 ms", ours.refusal_p99_ms, peer.refusal_p99_ms),
        (
            "gave up %",
            Some(ours.timed_out_percent),
            Some(peer.timed_out_percent),
        ),
        (
            "wasted %",
            Some(ours.wasted_percent),
            Some(peer.wasted_percent),
        ),
    ];
    let more = more_is_better.into_iter().map(|row| (row, true));
    let less = less_is_better.into_iter().map(|row| (row, false));
    more.chain(less)
        .filter_map(|((what, ours, peer), more)| {
            let (ours, peer) = (ours?, peer?);
            let (low, high) = if more { (ours, peer) } else { (peer, ours) };
            // A tenth of a percent, or of a millisecond, is nothing either.
            (high - low > (high * SAME).max(0.1)).then_some((what, ours, peer))
        })
        .collect()
}

fn by_scenario(rows: &[Row]) -> impl Iterator<Item = (&'static Scenario, Vec<&Row>)> {
    let of = |scenario: &'static Scenario| {
        let row = |contender: Contender| {
            let names = (contender.name(), scenario.name);
            rows.iter()
                .find(move |row| (row.contender.as_str(), row.scenario.as_str()) == names)
        };
        let found: Vec<&Row> = Contender::ALL.into_iter().filter_map(row).collect();
        (scenario, found)
    };
    let scenarios = scenario::ALL.iter().map(of);
    scenarios.filter(|(_, rows)| !rows.is_empty())
}

fn cells(row: &Row) -> [String; COLUMNS.len()] {
    let maybe =
        |number: Option<f64>| number.map_or("–".to_owned(), |number| format!("{number:.1}"));
    [
        row.polite_ok_percent
            .map_or("–".to_owned(), |percent| format!("{percent:.2}")),
        maybe(row.polite_p50_ms),
        maybe(row.polite_p99_ms),
        format!("{:.0}", row.goodput_per_s),
        maybe(row.capacity_percent),
        maybe(row.refusal_p99_ms),
        format!("{:.1}", row.timed_out_percent),
        format!("{:.1}", row.wasted_percent),
        maybe(row.late_p99_ms),
    ]
}

/// What only some rows have, and what is wrong with the measurement.
fn note(row: &Row) -> String {
    let mut notes = Vec::new();
    match (row.weight_ratio, row.others_per_s) {
        (Some(ratio), _) => notes.push(format!("served 4:1 as {ratio:.2}:1")),
        (None, Some((one, other))) => notes.push(format!("{one:.0}/s and {other:.0}/s")),
        (None, None) => {}
    }
    if row.scenario == scenario::WORDS {
        let kept = row
            .word_kept_at_once_percent
            .zip(row.word_kept_within_double_percent);
        notes.push(match kept {
            Some((at_once, double)) => {
                format!("Retry-After kept: {at_once:.1} % at once, {double:.1} % within twice")
            }
            None => "no Retry-After given".to_owned(),
        });
    }
    if !row.valid {
        notes.push("INVALID: the generator was late".to_owned());
    }
    match notes.is_empty() {
        true => String::new(),
        false => format!(" ({})", notes.join("; ")),
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes all text");
}
