//! The vectors in `vectors/oap-1.json` and in the specification are what this implementation does. They are written
//! anew by `OAP_VECTORS=write cargo test -p oap --test vectors`.

#[path = "vectors/examples.rs"]
mod examples;
#[path = "vectors/tell.rs"]
mod tell;

use std::fs;
use std::path::{Path, PathBuf};

use oap::{Refusal, Violation};

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn specification() -> String {
    fs::read_to_string(file("../../docs/oap-1.md")).expect("there is a specification")
}

fn is_to_be_written() -> bool {
    std::env::var("OAP_VECTORS").is_ok_and(|wish| wish == "write")
}

// req: TR-01
#[test]
fn the_vectors_are_what_is_written_and_read_here() {
    let expected = tell::json(&examples::all());
    let path = file("vectors/oap-1.json");
    if is_to_be_written() {
        let text = serde_json::to_string_pretty(&expected).expect("it is JSON");
        fs::write(&path, text + "\n").expect("the vectors can be written");
    }
    let text = fs::read_to_string(path).expect("there are vectors");
    let kept: serde_json::Value = serde_json::from_str(&text).expect("they are JSON");
    assert_eq!(kept, expected);
}

// req: TR-01
#[test]
fn the_specification_shows_the_vectors() {
    const OPEN: &str = "<!-- vectors -->\n";
    const CLOSE: &str = "<!-- /vectors -->";
    let page = specification();
    let (before, rest) = page.split_once(OPEN).expect("there is a place for them");
    let (shown, after) = rest.split_once(CLOSE).expect("and it ends");
    let expected = tell::table(&examples::all());
    if is_to_be_written() {
        let page = format!("{before}{OPEN}{expected}{CLOSE}{after}");
        fs::write(file("../../docs/oap-1.md"), page).expect("the page can be written");
    } else {
        assert_eq!(shown, expected);
    }
}

/// Reasons and statuses in a table of the specification, row by row.
fn rows(section: &str) -> Vec<(String, u16)> {
    let page = specification();
    let (_, rest) = page.split_once(section).expect("there is such a section");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split('|');
        let reason = cells.next()?.trim().trim_end_matches('`').to_owned();
        Some((reason, cells.next()?.trim().parse().ok()?))
    };
    section.lines().filter_map(row).collect()
}

// req: TR-03
#[test]
fn the_specification_has_a_row_for_each_violation_and_for_no_other() {
    let known: Vec<(String, u16)> = Violation::ALL
        .iter()
        .map(|violation| (violation.reason().to_owned(), violation.status()))
        .collect();
    assert_eq!(rows("\n## Violations\n"), known);
}

#[test]
fn the_specification_has_a_row_for_each_refusal_and_for_no_other() {
    let known: Vec<(String, u16)> = Refusal::ALL
        .iter()
        .map(|refusal| (refusal.reason().to_owned(), refusal.status()))
        .collect();
    assert_eq!(rows("\n## Refusals\n"), known);
}
