//! The dashboard: the few numbers one looks at first, then every metric, by what it is about.

use kernel::metrics::{Kind, MetricSpec};
use serde_json::{Value, json};

use super::{metric, metrics};

/// Where metrics belong, by how their names begin; what is not named here is the kernel's.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Gateway",
        &[
            "gateway_",
            "fq_",
            "upstream_",
            "backoff_",
            "busy_",
            "downstream_",
        ],
    ),
    ("Edge", &["edge_"]),
    ("Transport", &["transport_", "oap_"]),
    ("Doors", &["connections_", "tls_", "accept_", "io_"]),
    ("Overlay", &["overlay_"]),
    ("Kernel", &[]),
];

/// What one looks at first.
const FIRST: [&str; 6] = [
    "readyz_state",
    "gateway_requests_total",
    "gateway_request_seconds",
    "edge_requests_total",
    "edge_request_seconds",
    "rejected_total",
];

/// Panels beside each other, and their size on Grafana's grid of 24 columns.
const COLUMNS: usize = 3;
const WIDTH: usize = 24 / COLUMNS;
const HEIGHT: usize = 7;

/// The dashboard.
pub(super) fn dashboard() -> Value {
    let mut page = Page::default();
    page.row("First", FIRST.map(metric).into_iter());
    for (title, _) in GROUPS {
        let of_group = metrics().into_iter().filter(|spec| group(spec) == title);
        page.row(title, of_group);
    }
    json!({
        "title": "macronode",
        "uid": "macronode",
        "tags": ["macronode"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "10s",
        "time": { "from": "now-1h", "to": "now" },
        "templating": { "list": [
            { "name": "source", "label": "Data source", "type": "datasource", "query": "prometheus" },
            {
                "name": "instance", "label": "Node", "type": "query", "datasource": source(),
                "query": "label_values(readyz_state, instance)",
                "includeAll": true, "multi": true, "refresh": 2,
            },
        ] },
        "panels": page.panels,
    })
}

fn group(spec: &MetricSpec) -> &'static str {
    let named = |(_, prefixes): &&(&str, &[&str])| {
        prefixes.iter().any(|prefix| spec.name.starts_with(prefix))
    };
    GROUPS
        .iter()
        .find(named)
        .map_or("Kernel", |(title, _)| title)
}

#[derive(Default)]
struct Page {
    panels: Vec<Value>,
    /// Where the next row begins.
    y: usize,
}

impl Page {
    fn row(&mut self, title: &str, specs: impl Iterator<Item = &'static MetricSpec>) {
        let id = self.panels.len() + 1;
        self.panels.push(json!({
            "id": id, "type": "row", "title": title, "collapsed": false, "panels": [],
            "gridPos": { "x": 0, "y": self.y, "w": 24, "h": 1 },
        }));
        self.y += 1;
        let mut rows = 0;
        for (place, spec) in specs.enumerate() {
            rows = place / COLUMNS + 1;
            let at = json!({
                "x": place % COLUMNS * WIDTH, "y": self.y + place / COLUMNS * HEIGHT, "w": WIDTH, "h": HEIGHT,
            });
            let panel = panel(self.panels.len() + 1, spec, at);
            self.panels.push(panel);
        }
        self.y += rows * HEIGHT;
    }
}

fn panel(id: usize, spec: &MetricSpec, at: Value) -> Value {
    let targets: Vec<_> = queries(spec)
        .into_iter()
        .zip(["A", "B"])
        .map(|((expr, legend), name)| {
            json!({ "refId": name, "expr": expr, "legendFormat": legend, "datasource": source() })
        })
        .collect();
    json!({
        "id": id,
        "type": "timeseries",
        "title": spec.name,
        "description": spec.help,
        "datasource": source(),
        "gridPos": at,
        "fieldConfig": { "defaults": { "unit": unit(spec), "min": 0 }, "overrides": [] },
        "options": { "legend": { "displayMode": "list", "placement": "bottom" }, "tooltip": { "mode": "multi" } },
        "targets": targets,
    })
}

/// What is asked for a metric, and how its lines are called.
fn queries(spec: &MetricSpec) -> Vec<(String, String)> {
    let name = spec.name;
    let nodes = "{instance=~\"$instance\"}";
    let mut by = vec!["instance"];
    by.extend(spec.labels);
    let labels = by.join(", ");
    let legend: Vec<_> = by.iter().map(|label| format!("{{{{{label}}}}}")).collect();
    let legend = legend.join(" ");
    match spec.kind {
        Kind::Counter => {
            let expr = format!("sum by ({labels}) (rate({name}{nodes}[$__rate_interval]))");
            vec![(expr, legend)]
        }
        Kind::Gauge => vec![(format!("sum by ({labels}) ({name}{nodes})"), legend)],
        Kind::Histogram(_) => [("0.5", "half"), ("0.99", "99 %")]
            .map(|(part, word)| {
                let rate = format!("rate({name}_bucket{nodes}[$__rate_interval])");
                let expr = format!("histogram_quantile({part}, sum by (le, {labels}) ({rate}))");
                (expr, format!("{word} {legend}"))
            })
            .into(),
    }
}

fn unit(spec: &MetricSpec) -> &'static str {
    match spec.kind {
        Kind::Counter if spec.name.contains("bytes") => "Bps",
        Kind::Counter => "ops",
        _ if spec.name.ends_with("_seconds") => "s",
        _ if spec.name.ends_with("_bytes") => "bytes",
        _ => "short",
    }
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${source}" })
}
