//! The alert rules: what somebody should look at, in the words of the metrics there are.

use std::fmt::Write as _;

use super::metric;

/// One alert.
struct Alert {
    name: &'static str,
    expr: String,
    /// How long it must hold.
    hold: &'static str,
    severity: &'static str,
    summary: &'static str,
    /// What to look at.
    advice: &'static str,
}

const PAGE: &str = "critical";
const LOOK: &str = "warning";

/// The rules file.
pub(super) fn rules() -> String {
    let mut text = String::from(
        "# Made from the metrics of the node by `cargo xtask docs`.\ngroups:\n  - name: macronode\n    rules:\n",
    );
    for alert in alerts() {
        let Alert {
            name,
            expr,
            hold,
            severity,
            summary,
            advice,
        } = alert;
        // A JSON string is a string of YAML.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        write!(
            text,
            "      - alert: {name}\n        expr: {}\n        for: {hold}\n        labels:\n          \
             severity: {severity}\n        annotations:\n          summary: {}\n          description: {}\n",
            quoted(&expr),
            quoted(summary),
            quoted(advice),
        )
        .expect("writing to a String does not fail");
    }
    text
}

fn alerts() -> Vec<Alert> {
    [kernel(), gateway(), edge()]
        .into_iter()
        .flatten()
        .collect()
}

fn kernel() -> Vec<Alert> {
    vec![
        Alert {
            name: "MacronodeAbsent",
            expr: format!("absent({})", plain("readyz_state", "")),
            hold: "2m",
            severity: PAGE,
            summary: "no node is scraped",
            advice: "see whether the nodes run, and whether Prometheus may reach their admin servers",
        },
        Alert {
            name: "MacronodeServiceUnready",
            expr: format!("{} == 0", plain("readyz_state", "")),
            hold: "1m",
            severity: PAGE,
            summary: "{{ $labels.service }} on {{ $labels.instance }} is not ready",
            advice: "/readyz says why",
        },
        Alert {
            name: "MacronodeServiceDegraded",
            expr: format!("{} == 1", plain("readyz_state", "")),
            hold: "10m",
            severity: LOOK,
            summary: "{{ $labels.service }} on {{ $labels.instance }} has been degraded for ten minutes",
            advice: "/readyz says why",
        },
        Alert {
            name: "MacronodeRestarts",
            expr: format!("{} > 5", increase("service_restarts_total", "", "10m")),
            hold: "0m",
            severity: LOOK,
            summary: "{{ $labels.service }} on {{ $labels.instance }} crashes again and again",
            advice: "the log has the last words of each life",
        },
        Alert {
            name: "MacronodePanics",
            expr: format!("{} > 0", increase("tasks_panicked_total", "", "15m")),
            hold: "0m",
            severity: LOOK,
            summary: "a task of kind {{ $labels.kind }} on {{ $labels.instance }} panicked",
            advice: "a defect of the node: the log has the message and the place",
        },
        Alert {
            name: "MacronodeConfigRefused",
            expr: {
                let refused = "result=~\"invalid|refused\"";
                format!("{} > 0", increase("config_reloads_total", refused, "15m"))
            },
            hold: "0m",
            severity: LOOK,
            summary: "{{ $labels.instance }} could not take over its new config and keeps the old one",
            advice: "`macronode check` on the file says every mistake; /status has the last error",
        },
        Alert {
            name: "MacronodeQueueDrops",
            expr: format!("{} > 0", rate("queue_dropped_total", "", "5m")),
            hold: "5m",
            severity: LOOK,
            summary: "the queue {{ $labels.queue }} on {{ $labels.instance }} drops what it accepted",
            advice: "whoever takes out of it is too slow; for `telemetry` that is whoever reads standard error",
        },
        Alert {
            name: "MacronodeNoFileDescriptors",
            expr: format!("{} > 0", increase("accept_errors_total", "", "5m")),
            hold: "0m",
            severity: PAGE,
            summary: "{{ $labels.instance }} cannot accept connections at {{ $labels.door }}",
            advice: "mostly for want of file descriptors: `macronode doctor` says what the limit should be",
        },
        Alert {
            name: "MacronodeDiskBusy",
            expr: format!("{} > 0", rate("blocking_refused_total", "", "5m")),
            hold: "5m",
            severity: LOOK,
            summary: "{{ $labels.instance }} turns work away because its disks are too slow",
            advice: "look at the disks of packs and store",
        },
        Alert {
            name: "MacronodeLogLost",
            expr: format!("{} > 0", increase("log_write_errors_total", "", "15m")),
            hold: "0m",
            severity: LOOK,
            summary: "{{ $labels.instance }} cannot write its log",
            advice: "whoever takes standard error refuses it",
        },
        Alert {
            name: "MacronodeHandshakesFail",
            expr: format!(
                "{} > 0.5 * {}",
                sum("tls_failures_total", "", "5m", "instance, door"),
                sum("tls_handshakes_total", "", "5m", "instance, door")
            ),
            hold: "10m",
            severity: LOOK,
            summary: "one in three TLS handshakes at {{ $labels.door }} of {{ $labels.instance }} fails",
            advice: "an expired certificate, clients without post-quantum key exchange where it is required, or a scan",
        },
    ]
}

fn gateway() -> Vec<Alert> {
    let by_route = "instance, route";
    vec![
        Alert {
            name: "MacronodeGatewayFails",
            expr: format!(
                "{} > 0.05 * {}",
                sum("gateway_requests_total", "status=\"5xx\"", "5m", by_route),
                sum("gateway_requests_total", "", "5m", by_route)
            ),
            hold: "5m",
            severity: PAGE,
            summary: "more than one in twenty requests of {{ $labels.route }} on {{ $labels.instance }} fail",
            advice: "`macronode top` shows the endpoints behind it; rejected_total says whether the node refused them",
        },
        Alert {
            name: "MacronodeGatewaySlow",
            expr: format!("{} > 1", quantile("gateway_request_seconds", "route")),
            hold: "10m",
            severity: LOOK,
            summary: "one in a hundred requests of {{ $labels.route }} on {{ $labels.instance }} takes over a second",
            advice: "fq_wait_seconds is what they wait here, downstream_latency_seconds what upstreams take",
        },
        Alert {
            name: "MacronodeGatewayBusy",
            expr: format!(
                "{} > 0.5 * {}",
                sum("busy_rejections_total", "", "5m", "instance"),
                sum("gateway_requests_total", "", "5m", "instance")
            ),
            hold: "10m",
            severity: LOOK,
            summary: "{{ $labels.instance }} turns every second request away",
            advice: "/v1/tenants of the overlay, or `macronode top`, shows who asks for more than their share",
        },
        Alert {
            name: "MacronodeUpstreamDown",
            expr: format!("{} == 1", plain("gateway_degraded", "")),
            hold: "1m",
            severity: PAGE,
            summary: "{{ $labels.instance }} lacks an endpoint that is up, fresh keys or usable certificates",
            advice: "/readyz names it",
        },
        Alert {
            name: "MacronodeBreakersOpen",
            expr: format!(
                "{} > 3",
                increase("upstream_breaker_opened_total", "", "10m")
            ),
            hold: "0m",
            severity: LOOK,
            summary: "breakers of endpoints behind {{ $labels.instance }} open again and again",
            advice: "/v1/endpoints of the overlay shows which",
        },
    ]
}

fn edge() -> Vec<Alert> {
    vec![
        Alert {
            name: "MacronodePacksUnready",
            expr: format!("{} > 0", plain("edge_packs", "state=\"unready\"")),
            hold: "5m",
            severity: LOOK,
            summary: "{{ $labels.instance }} has packs it cannot serve",
            advice: "/v1/packs of the overlay, or /edge of the admin server, says which and why",
        },
        Alert {
            name: "MacronodeStoreFails",
            expr: {
                let bad = "event=~\"damaged|unreadable|failed\"";
                format!("{} > 0", increase("edge_store_events_total", bad, "15m"))
            },
            hold: "0m",
            severity: LOOK,
            summary: "the store of {{ $labels.instance }} had objects that were {{ $labels.event }}",
            advice: "look at the disk; nothing damaged was served",
        },
        Alert {
            name: "MacronodeEdgeFails",
            expr: format!(
                "{} > 0.05 * {}",
                sum(
                    "edge_requests_total",
                    "status=\"5xx\"",
                    "5m",
                    "instance, kind"
                ),
                sum("edge_requests_total", "", "5m", "instance, kind")
            ),
            hold: "5m",
            severity: PAGE,
            summary: "more than one in twenty requests for {{ $labels.kind }} at {{ $labels.instance }} fail",
            advice: "edge_rejects_total says why",
        },
    ]
}

/// A metric as it is, with these labels only.
fn plain(name: &str, only: &str) -> String {
    selected(metric(name).name, only, "")
}

fn increase(name: &str, only: &str, time: &str) -> String {
    format!("increase({})", selected(metric(name).name, only, time))
}

fn rate(name: &str, only: &str, time: &str) -> String {
    format!("rate({})", selected(metric(name).name, only, time))
}

fn sum(name: &str, only: &str, time: &str, by: &str) -> String {
    format!("sum by ({by}) ({})", rate(name, only, time))
}

/// What 99 of 100 do not exceed.
fn quantile(name: &str, by: &str) -> String {
    let buckets = format!("{}_bucket", metric(name).name);
    let rate = format!("rate({})", selected(&buckets, "", "5m"));
    format!("histogram_quantile(0.99, sum by (instance, {by}, le) ({rate}))")
}

fn selected(name: &str, only: &str, time: &str) -> String {
    let only = match only {
        "" => String::new(),
        only => format!("{{{only}}}"),
    };
    match time {
        "" => format!("{name}{only}"),
        time => format!("{name}{only}[{time}]"),
    }
}
