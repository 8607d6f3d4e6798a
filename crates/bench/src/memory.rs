//! What a server keeps: idle, for each connection that only stays, for each tenant it has seen.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::catalogue::Ask;
use crate::circumstances;
use crate::frame::Effort;
use crate::load::idle::{self, Idle, Manner};
use crate::load::{request, sequence};
use crate::peers::{Door, Kind, Launch, Running, haproxy, macronode, nginx};
use crate::proxy::certificate::Certificate;
use crate::report;
use crate::sheet::{Axis, Plot, Row, Series};
use crate::stand::{Stand, reserve};

/// What it is called by.
pub const NAME: &str = "memory";
/// One sentence for the list.
pub const ABOUT: &str = "memory idle, of a silent connection (plain, TLS, HTTP/2) and of a tenant";

const MIB: f64 = 1_048_576.0;
const GOAL_KIB: f64 = 8.0;
const SETTLE: Duration = Duration::from_millis(400);
const DOORS: [(Door, &str); 3] = [
    (Door::Plain, "plain"),
    (Door::Tls, "TLS"),
    (Door::Http2, "HTTP/2"),
];

/// How memory grew: so many of something, so many bytes.
type Growth = Vec<(usize, u64)>;

/// Every server with every door, then ours with ever more tenants.
pub fn memory(ask: &Ask) -> Result<(), String> {
    let stand = Stand::new()?;
    let certificate = Certificate::make()?;
    let (mut rows, mut plots) = (Vec::new(), Vec::new());
    for (door, name) in DOORS {
        if !ask.wanted.has(&[name]) {
            continue;
        }
        let mut grown = Vec::new();
        for kind in Kind::ALL {
            match connections(&stand, kind, door, &certificate, ask.effort) {
                Ok(growth) => grown.push((kind, growth)),
                Err(sentence) => circumstances::absent(&sentence),
            }
        }
        if door == Door::Plain {
            rows.extend(grown.iter().map(|(kind, growth)| idle_row(*kind, growth)));
        }
        rows.extend(
            grown
                .iter()
                .map(|(kind, growth)| connection_row(name, *kind, growth)),
        );
        plots.push(connections_plot(name, &grown));
    }
    if ask.wanted.has(&["tenants"]) {
        let growth = tenants(&stand, ask.effort)?;
        rows.push(tenant_row(&growth));
        plots.push(tenants_plot(&growth));
    }
    report::tell(NAME, ask.json, rows, plots)
}

/// HAProxy keeps two descriptors back for each client it may have, and does not start where they are not to be had.
fn most(kind: Kind) -> usize {
    match kind {
        Kind::Haproxy => idle::most() / 2 - 100,
        _ => idle::most(),
    }
}

fn start(stand: &Stand, kind: Kind, door: Door, files: &Certificate) -> Result<Running, String> {
    let port = reserve()?;
    let place = stand.place(port.addr(), door);
    let size = macronode::Size {
        endpoints: &[place.origin],
        routes: 0,
        connections: idle::most(),
        limit: 1_000,
    };
    let config = match kind {
        Kind::Nginx => nginx::wide(&place, idle::most() + 400),
        Kind::Haproxy => haproxy::wide(&place, most(kind)),
        _ => macronode::sized(&place, &size),
    };
    let launch = Launch {
        kind,
        config: &config,
        files: &files.files(),
        under: &[],
    };
    launch.start(port)
}

fn connections(
    stand: &Stand,
    kind: Kind,
    door: Door,
    certificate: &Certificate,
    effort: Effort,
) -> Result<Growth, String> {
    let counts: &[usize] = match effort {
        Effort::Quick => &[100, 1_000, 2_500],
        Effort::Full => &[100, 1_000, 5_000, 10_000, 20_000],
    };
    let server = start(stand, kind, door, certificate)?;
    let manner = Manner {
        target: server.address(),
        door,
        tls: tls(certificate)?,
    };
    std::thread::sleep(SETTLE);
    let (mut idle, mut growth) = (Idle::default(), vec![(0, server.resident_bytes())]);
    let most = most(kind);
    let mut counts: Vec<usize> = counts.iter().map(|count| (*count).min(most)).collect();
    counts.dedup();
    for count in counts {
        let grown = idle.grow(count, &manner);
        grown.map_err(|error| format!("{} is left out: {error}", kind.name()))?;
        std::thread::sleep(SETTLE);
        growth.push((count, server.resident_bytes()));
    }
    match idle.closed() {
        0 => Ok(growth),
        closed => Err(format!(
            "{} is left out: it closed {closed} idle connections",
            kind.name()
        )),
    }
}

fn tenants(stand: &Stand, effort: Effort) -> Result<Growth, String> {
    let most = match effort {
        Effort::Quick => 30_000,
        Effort::Full => 1_000_000,
    };
    let server = start(stand, Kind::Macronode, Door::Plain, &Certificate::make()?)?;
    let target = server.address();
    let ask = |number: u64| {
        let tenant = format!("t{number}");
        request(
            "GET",
            target,
            "/bytes/64",
            &[("X-Tenant", tenant.as_str())],
            b"",
        )
    };
    let (mut growth, mut seen, mut next) = (Vec::new(), 0, 10);
    while seen < most {
        let sent = sequence::run(target, seen..next, 64, ask);
        sent.map_err(|error| format!("the tenants were not answered: {error}"))?;
        std::thread::sleep(SETTLE);
        growth.push((next as usize, server.resident_bytes()));
        seen = next;
        next = (next * 10).min(most);
    }
    Ok(growth)
}

fn tls(certificate: &Certificate) -> Result<Arc<ClientConfig>, String> {
    let odd = |error: rustls::Error| format!("the client cannot be set up: {error}");
    let mut roots = RootCertStore::empty();
    let der = CertificateDer::from(certificate.der.clone());
    roots.add(der).map_err(odd)?;
    client(roots)
}

fn client(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| format!("the client cannot be set up: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// For doors without TLS: it trusts nobody.
pub(crate) fn no_tls() -> Arc<ClientConfig> {
    client(RootCertStore::empty()).expect("the provider knows TLS 1.3")
}

fn idle_row(kind: Kind, growth: &Growth) -> Row {
    let idle = growth.first().map_or(0, |first| first.1);
    Row::new("idle", kind.name(), idle as f64 / MIB, "MiB")
}

/// Between the first hundred and the last: what is made once belongs to no connection.
fn bytes_each(growth: &Growth) -> Option<f64> {
    let from = growth.iter().find(|(count, _)| *count >= 10)?;
    let to = growth.last().filter(|last| last.0 > from.0)?;
    Some((to.1 as f64 - from.1 as f64) / (to.0 - from.0) as f64)
}

fn connection_row(door: &str, kind: Kind, growth: &Growth) -> Row {
    let kib = bytes_each(growth).unwrap_or(f64::NAN) / 1024.0;
    let count = growth.last().map_or(0, |last| last.0);
    let metric = format!("of an idle connection, {door}");
    let row = Row::new(&metric, kind.name(), kib, "KiB").noted(format!("of {count}"));
    match kind {
        Kind::Macronode => row.promised("at most 8 KiB", kib <= GOAL_KIB),
        _ => row,
    }
}

fn tenant_row(growth: &Growth) -> Row {
    let count = growth.last().map_or(0, |last| last.0);
    let bytes = bytes_each(growth).unwrap_or(f64::NAN);
    Row::new("of a tenant", Kind::Macronode.name(), bytes, "bytes").noted(format!("of {count}"))
}

fn connections_plot(door: &str, grown: &[(Kind, Growth)]) -> Plot {
    let line = |(kind, growth): &(Kind, Growth)| Series {
        name: kind.name().to_owned(),
        points: points(growth),
    };
    Plot {
        title: format!("Memory against idle connections, {door}"),
        x: Axis::linear("connections"),
        y: Axis::linear("MiB"),
        lines: grown.iter().map(line).collect(),
        ..Plot::default()
    }
}

fn tenants_plot(growth: &Growth) -> Plot {
    Plot {
        title: "Memory against tenants".to_owned(),
        note: "each has asked once".to_owned(),
        x: Axis::log("tenants"),
        y: Axis::linear("MiB"),
        lines: vec![Series {
            name: Kind::Macronode.name().to_owned(),
            points: points(growth),
        }],
        ..Plot::default()
    }
}

fn points(growth: &Growth) -> Vec<(f64, f64)> {
    let point = |(count, bytes): &(usize, u64)| (*count as f64, *bytes as f64 / MIB);
    growth.iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_once_belongs_to_no_connection() {
        let growth = vec![
            (0, 5_000_000),
            (100, 9_000_000),
            (1_100, 9_000_000 + 8_192_000),
        ];
        assert_eq!(bytes_each(&growth), Some(8_192.0));
        let row = connection_row("plain", Kind::Macronode, &growth);
        assert_eq!(row.value, 8.0);
        assert!(row.goal.is_some_and(|goal| goal.met));
        let more = vec![(100, 0), (1_100, 8_193_000)];
        let row = connection_row("plain", Kind::Macronode, &more);
        assert!(row.goal.is_some_and(|goal| !goal.met));
        assert_eq!(bytes_each(&vec![(0, 1)]), None);
    }
}
