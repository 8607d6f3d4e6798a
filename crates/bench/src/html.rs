//! The report: one page without anything from elsewhere, made from what the benchmarks left behind.

mod standing;
mod tables;

use std::path::{Path, PathBuf};

use crate::peers::configs;
use crate::results;
use crate::sheet::Sheet;

const REPORT: &str = "report.html";
/// All sheets in one file, to be kept for a comparison later.
const ALL: &str = "all.json";
const STYLE: &str = include_str!("html/style.css");

/// Writes the report and the file of all sheets; gives the place of the report.
pub fn write() -> Result<PathBuf, String> {
    let sheets = results::all()?;
    let folder = Path::new(results::FOLDER);
    let all = serde_json::to_string_pretty(&sheets).map_err(|error| error.to_string())?;
    results::write(&folder.join(ALL), &(all + "\n"))?;
    let report = folder.join(REPORT);
    results::write(&report, &page(&sheets))?;
    Ok(report)
}

fn page(sheets: &[Sheet]) -> String {
    let sections: String = sheets.iter().map(section).collect();
    let links: String = sheets
        .iter()
        .map(|sheet| format!("<a href=\"#{0}\">{0}</a>\n", escaped(&sheet.name)))
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>macronode: where we stand</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>macronode: where we stand</h1>\n{}<nav>\n{links}<a href=\"#configs\">configs</a>\n</nav>\n\
         {sections}{}</body>\n</html>\n",
        standing::told(sheets),
        configs_told()
    )
}

fn section(sheet: &Sheet) -> String {
    let Sheet {
        name,
        about,
        date,
        command,
        machine,
        ..
    } = sheet;
    let quick = match command.contains("--quick") {
        true => {
            " A first impression: without <code>--quick</code> there are more and longer rounds."
        }
        false => "",
    };
    let absent: String = sheet
        .absent
        .iter()
        .map(|who| format!("<p class=\"missed\">{}</p>\n", escaped(who)))
        .collect();
    let plots: String = sheet.plots.iter().filter_map(crate::chart::draw).collect();
    let plots = match plots.is_empty() {
        true => plots,
        false => format!("<div class=\"plots\">\n{plots}</div>\n"),
    };
    format!(
        "<h2 id=\"{0}\">{0}</h2>\n<p>{1}.</p>\n<p class=\"soft\">{2}; {3}; {4}. \
         Again: <code>{5}</code>.{quick}</p>\n{absent}{plots}{6}",
        escaped(name),
        escaped(about),
        escaped(date),
        escaped(machine),
        escaped(&sheet.versions.join(", ")),
        escaped(command),
        tables::told(&sheet.rows)
    )
}

fn configs_told() -> String {
    let one = |(name, text): &(&str, &str)| {
        format!(
            "<details><summary><code>{}</code></summary>\n<pre>{}</pre></details>\n",
            escaped(name),
            escaped(text)
        )
    };
    let all: String = configs::ALL.iter().map(one).collect();
    format!(
        "<h2 id=\"configs\">configs</h2>\n<p>What every server ran with, and why that is fair. Words between \
         doubled braces are put in by the benchmark: addresses, sizes.</p>\n{all}"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
