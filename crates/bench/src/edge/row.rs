//! What one server needed for one size, beside the others; as rows for people.

use serde::{Deserialize, Serialize};

use super::case::Case;
use super::fills;
use crate::peers::Kind;
use crate::results::{Keyed, rounded, today};
use crate::sheet;
use crate::turns::{Measured, median};

/// A line of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Row {
    pub(super) case: String,
    pub(super) server: String,
    pub(super) unit: String,
    /// A request, the median of the rounds.
    pub(super) each: f64,
    pub(super) to_nginx: Option<f64>,
    pub(super) to_varnish: Option<f64>,
    pub(super) to_bare: Option<f64>,
    /// To the same without what is beside it.
    pub(super) to_alone: Option<f64>,
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

    fn rows(all: &[Self]) -> Vec<sheet::Row> {
        all.iter().map(Self::told).collect()
    }
}

impl Row {
    /// Ours promises to cost no more than nginx; the others are company.
    fn told(&self) -> sheet::Row {
        let mut row = sheet::Row::new(&self.case, &self.server, self.each, &self.unit)
            .beside(Kind::Nginx.name(), self.to_nginx);
        if self.server == Kind::Macronode.name() {
            row = row.at_most(1.0);
        }
        if self.to_alone.is_some() {
            row = row
                .beside(fills::SUBJECTS[0], self.to_alone)
                .at_most(fills::AT_MOST);
        }
        row.beside(Kind::Varnish.name(), self.to_varnish)
            .beside(Kind::Bare.name(), self.to_bare)
            .over(self.rounds, Some(self.spread))
            .failed(self.failures)
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
            to_varnish: measured.ratio_to(Kind::Varnish, all),
            to_bare: measured.ratio_to(Kind::Bare, all),
            spread: measured.spread(),
            per_s: median(own.iter().map(|sample| sample.per_s)),
            p50_us: median(own.iter().filter_map(|sample| sample.p50_us)),
            p99_us: median(own.iter().filter_map(|sample| sample.p99_us)),
            failures: own.iter().map(|sample| sample.failures).sum(),
            rounds: own.len(),
            measured: today(),
            ..Row::default()
        }
    };
    let some = all.iter().filter(|measured| !measured.samples.is_empty());
    some.map(row).collect()
}

const COLUMNS: [&str; 8] = [
    "each",
    "to nginx",
    "to Varnish",
    "to bare",
    "spread",
    "requests/s",
    "p50 µs",
    "p99 µs",
];

/// Case by case, aligned for a terminal.
pub(super) fn text(rows: &[Row]) -> String {
    let mut lines = Vec::new();
    for (case, rows) in by_case(rows) {
        let heads: String = COLUMNS.iter().map(|head| format!("{head:>12}")).collect();
        lines.push(format!("{case:<24}{heads}"));
        for row in rows {
            let cells: String = cells(row)
                .iter()
                .map(|cell| format!("{cell:>12}"))
                .collect();
            lines.push(format!("  {:<22}{cells}{}", row.server, note(row)));
        }
    }
    lines.join("\n") + "\n"
}

/// The same for the page.
pub(super) fn markdown(rows: &[Row]) -> String {
    let mut lines = vec![
        format!("| | | {} |", COLUMNS.join(" | ")),
        format!("|---|---|{}", "---:|".repeat(COLUMNS.len())),
    ];
    for (case, rows) in by_case(rows) {
        for (index, row) in rows.into_iter().enumerate() {
            let name = if index == 0 { case } else { "" };
            let cells = cells(row).join(" | ");
            lines.push(format!(
                "| {name} | {}{} | {cells} |",
                row.server,
                note(row)
            ));
        }
    }
    lines.join("\n") + "\n"
}

fn by_case(rows: &[Row]) -> impl Iterator<Item = (&'static str, Vec<&Row>)> {
    let of = |case: &'static str| {
        let found: Vec<&Row> = rows.iter().filter(|row| row.case == case).collect();
        (case, found)
    };
    let cases = Case::ALL.iter().map(|case| case.name);
    cases
        .chain([fills::NAME])
        .map(of)
        .filter(|(_, rows)| !rows.is_empty())
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
        maybe(row.to_varnish, 2),
        maybe(row.to_bare, 2),
        format!("{:.0} %", row.spread * 100.0),
        maybe(row.per_s, 0),
        maybe(row.p50_us, 0),
        maybe(row.p99_us, 0),
    ]
}

fn note(row: &Row) -> String {
    match (row.failures, row.to_alone) {
        (0, None) => String::new(),
        (0, Some(ratio)) => format!(" ({ratio:.2} × alone)"),
        (failures, _) => format!(" (INVALID: {failures} failures)"),
    }
}
