//! The cells for people: aligned in a terminal, or as a page, and what follows from them.

use std::fmt::Write as _;

use super::cell::{Cell, Figure, QUANTILES};
use super::setup::Setup;

/// Load by load, with a line break at the end.
pub(super) fn text(cells: &[Cell]) -> String {
    let mut out = String::new();
    for cell in cells {
        let words: Vec<String> = columns(cell)
            .iter()
            .map(|word| format!("{word:>24}"))
            .collect();
        let _ = writeln!(
            out,
            "{:>6}/s  {:<26}{}{}",
            cell.rate,
            cell.setup,
            words.concat(),
            note(cell)
        );
    }
    out + &verdict(cells) + "\n"
}

/// The same for the page.
pub(super) fn markdown(cells: &[Cell]) -> String {
    let names = QUANTILES.map(|(name, _)| format!("{name}, ms"));
    let mut out = format!(
        "| requests/s | | {} | processor, µs |\n|---:|---|{}---:|\n",
        names.join(" | "),
        "---:|".repeat(names.len())
    );
    for cell in cells {
        let words = columns(cell).join(" | ");
        let _ = writeln!(
            out,
            "| {} | {}{} | {words} |",
            cell.rate,
            cell.setup,
            note(cell)
        );
    }
    format!("{out}\n{}\n", verdict(cells))
}

fn columns(cell: &Cell) -> Vec<String> {
    let told = |figure: &Figure, digits: usize| {
        let ratio = figure.ratio.map(|ratio| format!(" ({ratio:.2} ×)"));
        let (value, spread) = (figure.value, figure.spread * 50.0);
        format!(
            "{value:.digits$} ± {spread:.0} %{}",
            ratio.unwrap_or_default()
        )
    };
    let latency = cell.latency.iter().map(|figure| told(figure, 2));
    latency.chain([told(&cell.cost, 1)]).collect()
}

fn note(cell: &Cell) -> String {
    cell.flaw()
        .map_or_else(String::new, |flaw| format!(" ({flaw})"))
}

/// Whether a runtime and a listener for each core are worth a mode of their own.
fn verdict(cells: &[Cell]) -> String {
    let per_core = cells
        .iter()
        .filter(|cell| cell.setup == Setup::PerCore.name());
    let judged: Vec<bool> = per_core.filter_map(Cell::wins).collect();
    let won = judged.iter().filter(|won| **won).count();
    let rule = "a fifth less processor time or p99, and neither more";
    match (judged.len(), won) {
        (0, _) => "One runtime a core was not measured beside one for both.".to_owned(),
        (all, won) if won == all => format!("One runtime a core wins under every load ({rule})."),
        (all, won) => format!(
            "One runtime a core does not win: under {won} of {all} loads it is clearly better ({rule})."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(setup: Setup, cost_ratio: Option<f64>) -> Cell {
        let figure = |ratio| Figure {
            value: 1.234,
            ratio,
            spread: 0.1,
        };
        Cell {
            setup: setup.name().to_owned(),
            rate: 3_000,
            latency: vec![figure(cost_ratio.and(Some(1.0))); 4],
            cost: figure(cost_ratio),
            ..Cell::default()
        }
    }

    #[test]
    fn a_mode_wins_under_every_load_or_not_at_all() {
        let clear = cell(Setup::PerCore, Some(0.7));
        let slight = cell(Setup::PerCore, Some(0.9));
        assert!(verdict(&[clear.clone(), clear.clone()]).contains("wins under every load"));
        let mixed = verdict(&[clear, slight]);
        assert!(
            mixed.contains("does not win: under 1 of 2 loads"),
            "{mixed}"
        );
        let alone = [cell(Setup::MultiOnTwo, None)];
        assert!(verdict(&alone).contains("was not measured"));
    }

    #[test]
    fn the_page_has_a_line_for_each_cell_and_as_many_columns_as_heads() {
        let mut cells = [
            cell(Setup::MultiOnTwo, None),
            cell(Setup::PerCore, Some(0.7)),
        ];
        cells[0].late_rounds = 1;
        let page = markdown(&cells);
        let lines: Vec<&str> = page.lines().collect();
        assert!(lines[2].contains("INVALID") && lines[3].contains("1.2 ± 5 % (0.70 ×)"));
        let bars = |line: &str| line.matches('|').count();
        assert!(lines[..4].iter().all(|line| bars(line) == bars(lines[0])));
        assert_eq!(text(&cells).lines().count(), 3);
    }
}
