//! What watches a node: a Grafana dashboard and Prometheus alert rules, made from the metrics there are.

use std::path::Path;

use kernel::metrics::MetricSpec;

use crate::exit::Exit;
use crate::reference::{TABLES, write_all};

mod alerts;
mod dashboard;

/// Writes both into `directory`.
pub(crate) fn write(directory: &Path) -> Exit {
    write_all(directory, files())
}

fn files() -> [(&'static str, String); 2] {
    [
        ("dashboard.json", format!("{:#}\n", dashboard::dashboard())),
        ("alerts.yaml", alerts::rules()),
    ]
}

/// Every metric that a node may show, by name. Those of spans are there only where traces are asked for.
fn metrics() -> Vec<&'static MetricSpec> {
    let all = TABLES.iter().flat_map(|tables| tables.metrics);
    let mut specs: Vec<_> = all
        .copied()
        .filter(|spec| !spec.name.starts_with("otlp_"))
        .collect();
    specs.sort_by_key(|spec| spec.name);
    specs
}

/// A metric by its name.
///
/// # Panics
/// If there is none: whoever watches it would watch nothing.
fn metric(name: &str) -> &'static MetricSpec {
    let found = metrics().into_iter().find(|spec| spec.name == name);
    found.unwrap_or_else(|| panic!("{name} is no metric of the node"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    // req: KN-19
    #[test]
    fn the_committed_dashboard_and_alerts_are_what_the_code_says() {
        let committed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/monitoring");
        for (name, text) in files() {
            let file = std::fs::read_to_string(committed.join(name)).unwrap_or_default();
            assert!(
                file == text,
                "deploy/monitoring/{name} is stale: run `cargo xtask docs`"
            );
        }
    }

    // req: KN-19
    #[test]
    fn every_metric_is_on_the_dashboard() {
        let dashboard = dashboard::dashboard().to_string();
        for spec in metrics() {
            assert!(dashboard.contains(spec.name), "{}", spec.name);
        }
    }

    #[test]
    fn no_metric_has_a_label_that_prometheus_sets_itself() {
        for spec in metrics() {
            for label in ["instance", "job", "le"] {
                assert!(!spec.labels.contains(&label), "{} has {label}", spec.name);
            }
        }
    }
}
