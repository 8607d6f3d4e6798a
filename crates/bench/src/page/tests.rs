use super::*;
use crate::sheet::Row;

fn sheet(name: &str, rows: Vec<Row>) -> Sheet {
    Sheet {
        name: name.to_owned(),
        about: "what it costs".to_owned(),
        date: "2026-01-31".to_owned(),
        command: format!("cargo xtask bench {name}"),
        machine: "2 cores".to_owned(),
        versions: vec!["nginx 1".to_owned()],
        absent: vec!["HAProxy is left out: it does not start:\n  because".to_owned()],
        rows,
        ..Sheet::default()
    }
}

fn row(metric: &str, ratio: f64) -> Row {
    Row::new(metric, "macronode", 10.0, "µs")
        .beside("nginx", Some(ratio))
        .at_most(1.0)
}

#[test]
fn what_is_missed_comes_first() {
    let sheets = [sheet("proxy", vec![row("a|b", 0.9), row("c", 1.1)])];
    let page = text(&sheets, &[]);
    assert!(page.contains("1 goals reached, 1 missed"));
    let (missed, reached) = (
        page.find("**missed**").unwrap(),
        page.find("| reached |").unwrap(),
    );
    assert!(missed < reached);
    assert!(
        page.contains("proxy: a/b (macronode)"),
        "a bar would end the cell"
    );
}

#[test]
fn a_section_says_when_where_how_and_who_was_missing() {
    let told = tables::section(&sheet("drain", vec![row("lost", 0.5), row("lost", 0.6)]), 9);
    for word in [
        "2026-01-31, 2 cores; nginx 1; `cargo xtask bench drain`",
        "Absent: HAProxy",
        "0.50 × nginx",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert_eq!(
        told.matches("| lost |").count(),
        1,
        "a metric is named once"
    );
    let long = tables::section(&sheet("sim", vec![row("x", 1.0); 10]), 9);
    assert!(long.contains("10 rows, in the report") && !long.contains("| x |"));
}
