//! The first thing one reads: which promises are kept, which are not, and by how much.

use super::escaped;
use crate::sheet::{Goal, Row, Sheet};

struct Promise<'a> {
    bench: &'a str,
    row: &'a Row,
    goal: &'a Goal,
}

impl<'a> Promise<'a> {
    fn of(bench: &'a str, row: &'a Row) -> Option<Self> {
        let goal = row.goal.as_ref()?;
        Some(Self { bench, row, goal })
    }
}

pub(super) fn told(sheets: &[Sheet]) -> String {
    let promises = promises(sheets);
    if promises.is_empty() {
        return "<p>Nothing with a goal was measured yet.</p>\n".to_owned();
    }
    let (met, missed): (Vec<_>, Vec<_>) = promises.into_iter().partition(|p| p.goal.met);
    let mut text = format!(
        "<p><span class=\"met\">{} goals reached</span>, <span class=\"missed\">{} missed</span>. \
         A ratio is ours to the other's, so below 1 is cheaper or quicker. The spread is how far the rounds lie \
         apart; a difference within it is none. Trust ratios and order, not digits.</p>\n",
        met.len(),
        missed.len()
    );
    let absent: Vec<&String> = sheets.iter().flat_map(|sheet| &sheet.absent).collect();
    if !absent.is_empty() {
        let count = absent.len();
        text += &format!(
            "<p class=\"missed\">{count} times somebody was missing; each section says who.</p>\n"
        );
    }
    if !missed.is_empty() {
        text += &format!("<h3>Missed</h3>\n{}", table(&missed));
    }
    if !met.is_empty() {
        text += &format!(
            "<details open><summary>Reached</summary>\n{}</details>\n",
            table(&met)
        );
    }
    text
}

fn promises(sheets: &[Sheet]) -> Vec<Promise<'_>> {
    sheets.iter().flat_map(of).collect()
}

fn of(sheet: &Sheet) -> impl Iterator<Item = Promise<'_>> {
    let promise = |row| Promise::of(&sheet.name, row);
    sheet.rows.iter().filter_map(promise)
}

fn table(promises: &[Promise<'_>]) -> String {
    let rows: String = promises.iter().map(line).collect();
    format!(
        "<div class=\"wide\"><table>\n<tr><th>what</th><th class=\"n\">ours</th><th class=\"n\">ratio</th>\
         <th class=\"n\">spread</th><th>goal</th></tr>\n{rows}</table></div>\n"
    )
}

fn line(promise: &Promise<'_>) -> String {
    let Promise { bench, row, goal } = promise;
    let ratios = escaped(&row.ratios().join("\n")).replace('\n', "<br>");
    let note = row.note.as_ref().map_or_else(String::new, |note| {
        format!(" <span class=\"soft\">{}</span>", escaped(note))
    });
    let (class, word) = match goal.met {
        true => ("met", "reached"),
        false => ("missed", "missed"),
    };
    format!(
        "<tr><td><a href=\"#{0}\">{0}</a>: {1} ({2}){note}</td><td class=\"n\">{3}</td>\
         <td class=\"n\">{ratios}</td><td class=\"n\">{4}</td>\
         <td>{5} <span class=\"{class}\">{word}</span></td></tr>\n",
        escaped(bench),
        escaped(&row.metric),
        escaped(&row.subject),
        super::tables::value(row),
        super::tables::spread(row),
        escaped(&goal.words)
    )
}
