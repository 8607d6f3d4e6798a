//! The rows for people: aligned in a terminal, or as a page.

use std::fmt::Write;

use super::case::Case;
use super::row::Row;
use crate::peers::Kind;

const COLUMNS: [&str; 7] = [
    "each",
    "to nginx",
    "to HAProxy",
    "spread",
    "requests/s",
    "p50 µs",
    "p99 µs",
];

/// Case by case, with a line break at the end.
pub(super) fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    for (case, rows) in by_case(rows) {
        let heads: String = COLUMNS.iter().map(|head| format!("{head:>14}")).collect();
        push(&mut out, format_args!("{:<30}{heads}\n", case.name));
        for row in rows {
            let cells: String = cells(row)
                .iter()
                .map(|cell| format!("{cell:>14}"))
                .collect();
            push(
                &mut out,
                format_args!("  {:<28}{cells}{}\n", row.server, note(row)),
            );
        }
    }
    out
}

/// The same for the page.
pub(super) fn markdown(rows: &[Row]) -> String {
    let mut out = format!("| | | {} |\n", COLUMNS.join(" | "));
    push(
        &mut out,
        format_args!("|---|---|{}\n", "---:|".repeat(COLUMNS.len())),
    );
    for (case, rows) in by_case(rows) {
        for (index, row) in rows.into_iter().enumerate() {
            let name = if index == 0 { case.name } else { "" };
            let (cells, note) = (cells(row).join(" | "), note(row));
            push(
                &mut out,
                format_args!("| {name} | {}{note} | {cells} |\n", row.server),
            );
        }
    }
    out
}

fn by_case(rows: &[Row]) -> impl Iterator<Item = (&'static Case, Vec<&Row>)> {
    let of = |case: &'static Case| {
        let row = |kind: Kind| {
            rows.iter()
                .find(move |row| row.case == case.name && row.server == kind.name())
        };
        let found: Vec<&Row> = Kind::ALL.into_iter().filter_map(row).collect();
        (case, found)
    };
    let cases = Case::ALL.iter().map(of);
    cases.filter(|(_, rows)| !rows.is_empty())
}

fn cells(row: &Row) -> [String; COLUMNS.len()] {
    let maybe = |number: Option<f64>, digits: usize| {
        number.map_or("–".to_owned(), |number| format!("{number:.digits$}"))
    };
    let each = match row.unit.as_str() {
        "µs" => format!("{:.2} µs", row.each),
        unit => format!("{:.1}k {}", row.each / 1e3, &unit[..5]),
    };
    [
        each,
        maybe(row.to_nginx, 2),
        maybe(row.to_haproxy, 2),
        format!("{:.0} %", row.spread * 100.0),
        maybe(row.per_s, 0),
        maybe(row.p50_us, 0),
        maybe(row.p99_us, 0),
    ]
}

fn note(row: &Row) -> String {
    if row.failures > 0 {
        return format!(" (INVALID: {} failures)", row.failures);
    }
    let logged = row.logged_percent.filter(|percent| *percent < 100.0);
    logged.map_or_else(String::new, |percent| {
        format!(" (logged {percent:.0} % of the requests)")
    })
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes all text");
}
