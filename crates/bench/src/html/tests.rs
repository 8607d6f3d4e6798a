use super::*;
use crate::sheet::{Axis, Plot, Row, Series};

fn sheets() -> Vec<Sheet> {
    let row = |metric: &str, who: &str, value| Row::new(metric, who, value, "µs");
    let plot = Plot {
        title: "latency against load".to_owned(),
        x: Axis::log("load"),
        y: Axis::log("ms"),
        lines: vec![Series {
            name: "macronode".to_owned(),
            points: vec![(1.0, 1.0), (10.0, 2.0)],
        }],
        ..Plot::default()
    };
    vec![Sheet {
        name: "proxy".to_owned(),
        about: "what a <request> costs".to_owned(),
        command: "cargo xtask bench proxy --quick".to_owned(),
        machine: "2 cores".to_owned(),
        versions: vec!["nginx 1.22".to_owned()],
        absent: vec!["HAProxy is left out: it is not installed".to_owned()],
        rows: vec![
            row("1 KiB", "nginx", 10.0),
            row("1 KiB", "macronode", 12.0)
                .beside("nginx", Some(1.2))
                .over(5, Some(0.1))
                .at_most(1.0),
            row("64 KiB", "macronode", 9.0)
                .beside("nginx", Some(0.9))
                .at_most(1.0),
        ],
        plots: vec![plot],
        ..Sheet::default()
    }]
}

#[test]
fn the_report_says_what_is_reached_and_what_is_missed() {
    let page = page(&sheets());
    assert!(page.contains("1 goals reached") && page.contains("1 missed"));
    assert!(page.contains("1.20 × nginx") && page.contains("± 5 %"));
    assert!(
        page.contains("HAProxy is left out"),
        "who is absent is named"
    );
    assert!(page.contains("A first impression"));
    assert!(
        page.contains("what a &lt;request&gt; costs"),
        "text is escaped"
    );
    assert!(page.contains("nginx 1.22") && page.contains("bench proxy --quick"));
}

#[test]
fn the_report_needs_nothing_from_elsewhere_and_suits_the_night() {
    let page = page(&sheets());
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        let found = page
            .split("id=\"configs\"")
            .next()
            .unwrap()
            .contains(outside);
        assert!(!found, "{outside} points out of the page");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("width=device-width"));
    for element in ["table", "details", "svg", "div", "pre", "h2", "tr", "td"] {
        let opened = page.matches(&format!("<{element}>")).count()
            + page.matches(&format!("<{element} ")).count();
        let closed = page.matches(&format!("</{element}>")).count();
        assert_eq!(opened, closed, "{element}");
    }
    assert!(
        page.contains("<svg viewBox"),
        "what is kept as data is drawn"
    );
}

#[test]
fn every_config_is_shown_with_the_reason_why_it_is_fair() {
    let page = page(&[]);
    for (name, text) in configs::ALL {
        assert!(page.contains(name));
        let ours = name.starts_with("macronode");
        assert!(text.starts_with("# "), "{name} says what it is for");
        assert!(ours || text.contains("Fair:"), "{name} says why it is fair");
    }
}
