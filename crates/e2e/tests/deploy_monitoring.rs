//! What watches a node asks for what the node shows: dashboard and alert rules against the metrics of a running one.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::collections::BTreeMap;

use e2e::command::ran;
use e2e::overlay::Overlay;
use e2e::promql::{self, Asked};
use serde_json::Value;
use testkit::http;

const DASHBOARD: &str = include_str!("../../../deploy/monitoring/dashboard.json");
const ALERTS: &str = include_str!("../../../deploy/monitoring/alerts.yaml");

/// Shown only where something is configured that this node does without, and why.
const ELSEWHERE: [(&str, &str); 1] = [("edge_bucket_total", "needs a bucket behind the store")];

/// The series of a running node with everything on: by name, each with its labels.
async fn series() -> BTreeMap<String, Vec<String>> {
    let node = Overlay::start("[transport]\nlisten = [\"127.0.0.1:0\"]").await;
    let page = http::get(node.admin, "/metrics").await.unwrap().text();
    let mut series: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    for sample in samples {
        let (sample, _) = sample.rsplit_once(' ').unwrap();
        let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
        series
            .entry(name.to_owned())
            .or_default()
            .push(labels.to_owned());
    }
    // Declared, with nothing counted yet.
    for line in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        let ends: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_count", "_sum"],
            _ => &[""],
        };
        for end in ends {
            series.entry(format!("{name}{end}")).or_default();
        }
    }
    for (name, why) in ELSEWHERE {
        let shown = series.insert(name.to_owned(), Vec::new());
        assert!(shown.is_none(), "{name} is shown: it is said that it {why}");
    }
    series
}

/// Whether some series meets a condition.
fn is_met(labels: &[String], (label, operator, value): &(String, String, String)) -> bool {
    let allowed: Vec<_> = value.split('|').collect();
    let found = |one: &&str| {
        let wanted = format!("{label}=\"{one}\"");
        labels.iter().any(|labels| labels.contains(&wanted))
    };
    matches!(&**operator, "=" | "=~") && allowed.iter().all(found)
}

fn check(asked: &Asked, series: &BTreeMap<String, Vec<String>>, at: &str) {
    for selector in &asked.selectors {
        let labels = series.get(&selector.metric);
        let labels = labels.unwrap_or_else(|| panic!("{at}: no metric {}", selector.metric));
        let own = |label: &str| ["instance", "le"].contains(&label);
        for condition in selector.conditions.iter().filter(|(label, ..)| !own(label)) {
            assert!(
                is_met(labels, condition),
                "{at}: {condition:?} of {}",
                selector.metric
            );
        }
        let first = labels.iter().find(|labels| !labels.is_empty());
        for label in asked.by.iter().filter(|label| !own(label)) {
            let has = first.is_none_or(|first| first.contains(&format!("{label}=\"")));
            assert!(has, "{at}: {} has no {label}", selector.metric);
        }
    }
}

fn panels(dashboard: &Value) -> Vec<&Value> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    panels.filter(|panel| panel["type"] != "row").collect()
}

// req: KN-22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_panel_and_every_alert_asks_for_what_a_node_shows() {
    let series = series().await;
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = panels(&dashboard);
    assert!(panels.len() > 40, "{} panels", panels.len());
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{title}");
        for target in targets {
            let expr = target["expr"].as_str().unwrap();
            let asked = promql::read(expr).unwrap_or_else(|why| panic!("{title}: {why}"));
            check(&asked, &series, title);
        }
    }
    let rules: Value = serde_saphyr::from_str(ALERTS).unwrap();
    let rules = rules["groups"][0]["rules"].as_array().unwrap().clone();
    assert!(rules.len() > 12, "{} rules", rules.len());
    for rule in rules {
        let name = rule["alert"].as_str().unwrap();
        let asked = promql::read(rule["expr"].as_str().unwrap());
        let asked = asked.unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(!asked.selectors.is_empty(), "{name}");
        check(&asked, &series, name);
        assert!(
            rule["for"].is_string() && rule["labels"]["severity"].is_string(),
            "{name}"
        );
        for words in ["summary", "description"] {
            assert!(
                rule["annotations"][words].is_string(),
                "{name} has no {words}"
            );
        }
    }
}

#[test]
fn no_two_panels_lie_over_each_other() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let all = dashboard["panels"].as_array().unwrap();
    let mut taken = std::collections::BTreeSet::new();
    for panel in all {
        let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{panel}");
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(taken.insert((x, y)), "{} is covered", panel["title"]);
            }
        }
    }
    let ids: std::collections::BTreeSet<_> = all.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), all.len());
}

#[test]
fn promtool_takes_the_rules_where_it_is_installed() {
    let mut promtool = std::process::Command::new("promtool");
    let present = promtool.arg("--version").output().is_ok();
    if !present {
        println!("promtool is not installed; the rules were read by our own reader only");
        return;
    }
    let rules = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../deploy/monitoring/alerts.yaml"
    );
    let said = ran(std::process::Command::new("promtool").args(["check", "rules", rules]));
    assert_eq!(said.code, Some(0), "{said:?}");
}
