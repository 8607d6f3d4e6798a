//! Clients that come with a handshake each, ask once, and go.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned};

use super::Sample;
use super::certificate::{Certificate, HOST};
use crate::load::request;
use crate::peers::Running;

pub(super) fn sample(
    server: &Running,
    certificate: &Certificate,
    resumed: bool,
    length: Duration,
) -> Result<Sample, String> {
    let config = Arc::new(config(certificate, resumed)?);
    let wanted = if resumed {
        HandshakeKind::Resumed
    } else {
        HandshakeKind::Full
    };
    let target = server.address();
    // The ticket of the first visit is what the second comes with.
    visit(target, &config)?;
    let (began, before) = (Instant::now(), server.cpu_time());
    let (mut visits, mut failures) = (0_u64, 0);
    while began.elapsed() < length {
        let kind = visit(target, &config)?;
        visits += 1;
        failures += u64::from(kind != Some(wanted));
    }
    let spent = server.cpu_time().saturating_sub(before);
    Ok(Sample {
        each: spent.as_secs_f64() * 1e6 / visits as f64,
        per_s: visits as f64 / began.elapsed().as_secs_f64(),
        p50_us: None,
        p99_us: None,
        answers: visits,
        failures,
    })
}

/// X25519 for all: not every peer knows the hybrid exchange that ours prefers.
fn config(certificate: &Certificate, resumed: bool) -> Result<ClientConfig, String> {
    let odd = |error: rustls::Error| format!("the client cannot be set up: {error}");
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups = vec![aws_lc_rs::kx_group::X25519];
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from(certificate.der.clone()))
        .map_err(odd)?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(odd)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    if !resumed {
        config.resumption = Resumption::disabled();
    }
    Ok(config)
}

fn visit(target: SocketAddr, config: &Arc<ClientConfig>) -> Result<Option<HandshakeKind>, String> {
    let odd = |error: &dyn std::fmt::Display| format!("a handshake failed: {error}");
    let name = ServerName::try_from(HOST).map_err(|error| odd(&error))?;
    let client = ClientConnection::new(config.clone(), name).map_err(|error| odd(&error))?;
    let socket = TcpStream::connect(target).map_err(|error| odd(&error))?;
    socket.set_nodelay(true).map_err(|error| odd(&error))?;
    let mut stream = StreamOwned::new(client, socket);
    let headers = [("Connection", "close"), ("X-Tenant", "bench")];
    // The host is the one of the certificate: a server may refuse others on this connection.
    let request = request("GET", HOST, "/bytes/64", &headers, b"");
    stream.write_all(&request).map_err(|error| odd(&error))?;
    let mut answer = Vec::new();
    // Some servers end without saying goodbye; what came before counts.
    let _ = stream.read_to_end(&mut answer);
    match answer.starts_with(b"HTTP/1.1 200") {
        true => Ok(stream.conn.handshake_kind()),
        false => {
            let line = answer.split(|byte| *byte == b'\r').next();
            Err(odd(&String::from_utf8_lossy(line.unwrap_or_default())))
        }
    }
}
