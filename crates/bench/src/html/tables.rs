//! The numbers of one benchmark: metric by metric, everybody's bar beside ours.

use super::escaped;
use crate::sheet::Row;

/// More rows than this are folded away at first.
const FOLDED_FROM: usize = 40;

pub(super) fn told(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut metrics: Vec<&str> = Vec::new();
    for row in rows {
        if !metrics.contains(&row.metric.as_str()) {
            metrics.push(&row.metric);
        }
    }
    let lines: String = metrics
        .into_iter()
        .map(|metric| {
            let of: Vec<&Row> = rows.iter().filter(|row| row.metric == metric).collect();
            group(&of)
        })
        .collect();
    let table = format!(
        "<div class=\"wide\"><table>\n<tr><th>what</th><th>who</th><th class=\"n\">value</th><th class=\"bar\"></th>\
         <th>ours to theirs</th><th class=\"n\">spread</th><th>goal</th></tr>\n{lines}</table></div>\n"
    );
    match rows.len() > FOLDED_FROM {
        true => format!(
            "<details><summary>All {} rows</summary>\n{table}</details>\n",
            rows.len()
        ),
        false => table,
    }
}

fn group(rows: &[&Row]) -> String {
    let most = rows.iter().map(|row| row.value).fold(0.0, f64::max);
    let line = |(index, row): (usize, &&Row)| {
        let metric = if index == 0 { row.metric.as_str() } else { "" };
        line(metric, row, most)
    };
    rows.iter().enumerate().map(line).collect()
}

fn line(metric: &str, row: &Row, most: f64) -> String {
    let ours = row.subject.starts_with("macronode") || row.subject == "ours";
    let class = if ours { " class=\"ours\"" } else { "" };
    let width = match most > 0.0 {
        true => (row.value / most * 100.0).clamp(0.0, 100.0),
        false => 0.0,
    };
    let ratios = escaped(&row.ratios().join("\n")).replace('\n', "<br>");
    let goal = row.goal.as_ref().map_or_else(String::new, |goal| {
        let (class, word) = match goal.met {
            true => ("met", "reached"),
            false => ("missed", "missed"),
        };
        format!(
            "{} <span class=\"{class}\">{word}</span>",
            escaped(&goal.words)
        )
    });
    let note = row.note.as_ref().map_or_else(String::new, |note| {
        format!("<br><span class=\"soft\">{}</span>", escaped(note))
    });
    format!(
        "<tr{class}><td>{}</td><td>{}{note}</td><td class=\"n\">{}</td>\
         <td class=\"bar\"><i style=\"width:{width:.0}%\"></i></td><td>{}</td><td class=\"n\">{}</td>\
         <td>{goal}</td></tr>\n",
        escaped(metric),
        escaped(&row.subject),
        value(row),
        ratios,
        spread(row)
    )
}

pub(super) fn value(row: &Row) -> String {
    escaped(&row.figure())
}

pub(super) fn spread(row: &Row) -> String {
    row.wavers().unwrap_or_else(|| "–".to_owned())
}
