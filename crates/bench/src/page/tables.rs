//! Sheets as Markdown.

use crate::sheet::{Row, Sheet};

/// Every promise, the broken ones first.
pub(super) fn standing(sheets: &[Sheet]) -> String {
    let promised = |sheet: &'_ Sheet| -> Vec<(String, Row)> {
        let rows = sheet.rows.iter().filter(|row| row.goal.is_some());
        rows.map(|row| (sheet.name.clone(), row.clone())).collect()
    };
    let mut rows: Vec<(String, Row)> = sheets.iter().flat_map(promised).collect();
    let is_met = |row: &Row| row.goal.as_ref().is_some_and(|goal| goal.met);
    rows.sort_by_key(|(_, row)| is_met(row));
    let met = rows.iter().filter(|(_, row)| is_met(row)).count();
    let mut text = format!(
        "## Where we stand\n\n{met} goals reached, {} missed. A ratio is ours to theirs: below 1 is cheaper or \
         quicker.\n\n| | ours | ratio | spread | goal | |\n|---|---:|---|---:|---|---|\n",
        rows.len() - met
    );
    for (bench, row) in &rows {
        let goal = row.goal.as_ref().map_or("", |goal| goal.words.as_str());
        let word = if is_met(row) { "reached" } else { "**missed**" };
        text += &line(&[
            format!("{bench}: {} ({})", row.metric, row.subject),
            row.figure(),
            ratios(row),
            spread(row),
            goal.to_owned(),
            word.to_owned(),
        ]);
    }
    text
}

/// A benchmark without words of its own.
pub(super) fn section(sheet: &Sheet, rows_max: usize) -> String {
    let mut text = format!("\n## {}: {}\n\n{}", sheet.name, sheet.about, when(sheet));
    if sheet.rows.len() > rows_max {
        text += &format!("{} rows, in the report.\n", sheet.rows.len());
        return text;
    }
    text += "| | | value | ratio | spread | note |\n|---|---|---:|---|---:|---|\n";
    let mut metric = "";
    for row in &sheet.rows {
        let name = if row.metric == metric {
            ""
        } else {
            &row.metric
        };
        metric = &row.metric;
        text += &line(&[
            name.to_owned(),
            row.subject.clone(),
            row.figure(),
            ratios(row),
            spread(row),
            row.note.clone().unwrap_or_default(),
        ]);
    }
    text
}

/// When, where, by which command, and who was missing.
pub(super) fn when(sheet: &Sheet) -> String {
    let absent: String = sheet
        .absent
        .iter()
        .map(|who| {
            let first = who.lines().next().unwrap_or_default();
            format!("Absent: {first}.\n\n")
        })
        .collect();
    format!(
        "{}, {}; {}; `{}`.\n\n{absent}",
        sheet.date,
        sheet.machine,
        sheet.versions.join(", "),
        sheet.command
    )
}

fn ratios(row: &Row) -> String {
    row.ratios().join(", ")
}

fn spread(row: &Row) -> String {
    row.wavers().unwrap_or_else(|| "–".to_owned())
}

/// A cell has no line of its own, and no bar but those between cells.
fn line(cells: &[String]) -> String {
    let clean = |cell: &String| cell.replace('|', "/").replace('\n', " ");
    let cells: Vec<String> = cells.iter().map(clean).collect();
    format!("| {} |\n", cells.join(" | "))
}
