//! Opens a connection: an address that was checked, within the time there is, encrypted where asked for.

use std::net::SocketAddr;
use std::time::Duration;

use kernel::clock;
use kernel::net::{self, TcpStream};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use crate::endpoint::Endpoint;
use crate::error::{Cause, SendError, Stage};
use crate::io::{Io, OpenCount, Wire};
use crate::spec::{PoolSpec, Protocol};
use crate::tls::{self, TlsError};

/// A peer that has not taken a byte for so long takes none any more, and all requests of a shared connection wait for
/// it. One that has a connection to itself may well be busy.
const DEAF: Duration = Duration::from_secs(15);

/// Who does not choose HTTP/2 by name may well take its first bytes for something else (RFC 9113, 3.2).
const NO_H2: &str = "the server did not agree to speak HTTP/2 (ALPN h2): let it do so, \
                     or set protocol = \"http1\" for this upstream";

/// Connects and encrypts; the address dialled is the one that was checked.
pub(crate) async fn dial(
    endpoint: &Endpoint,
    settings: &PoolSpec,
    until: Instant,
) -> Result<Io, SendError> {
    let Some(open) = OpenCount::try_new(&endpoint.connections, endpoint.idle.open_max()) else {
        return Err(unheard(Stage::Connect, Cause::Busy, endpoint));
    };
    let mut stage = Stage::Connect;
    let patience = until.min(clock::now() + settings.connect_timeout);
    let dialled = timeout_at(patience, wire(endpoint, settings, &mut stage)).await;
    let wire = match dialled {
        Ok(wire) => wire,
        Err(_) => Err(unheard(stage, Cause::Timeout, endpoint)),
    };
    let meters = &endpoint.common.meters;
    match wire.as_ref().map_err(SendError::cause) {
        Ok(_) => meters.dialled.inc(),
        Err(Cause::Timeout) => meters.dial_timeout.inc(),
        Err(Cause::Forbidden) => meters.dial_forbidden.inc(),
        Err(_) => meters.dial_failed.inc(),
    };
    Ok(Io::new(wire?, open))
}

async fn wire(
    endpoint: &Endpoint,
    settings: &PoolSpec,
    stage: &mut Stage,
) -> Result<Wire, SendError> {
    let stream = connect(endpoint, settings).await?;
    if !endpoint.target.spec.is_secure() {
        return Ok(Wire::Plain(stream));
    }
    *stage = Stage::Handshake;
    let untrusted = || unheard(Stage::Handshake, Cause::Untrusted, endpoint);
    let Some(client) = &settings.tls else {
        return Err(untrusted().because("no TLS is configured for an https endpoint"));
    };
    let name = client.name_for(&endpoint.target.spec.host);
    let name = name.map_err(|error: TlsError| untrusted().because(error))?;
    let connector = TlsConnector::from(client.config(settings.protocol));
    let encrypted = connector.connect(name, stream).await;
    let encrypted = encrypted.map_err(|error| {
        let cause = match error.kind() {
            std::io::ErrorKind::InvalidData => Cause::Untrusted,
            _ => Cause::Closed,
        };
        unheard(Stage::Handshake, cause, endpoint).because(error)
    })?;
    let agreed = encrypted.get_ref().1.alpn_protocol();
    if settings.protocol == Protocol::H2 && agreed != Some(tls::H2) {
        return Err(untrusted().because(NO_H2));
    }
    Ok(Wire::Encrypted(Box::new(encrypted)))
}

/// The address, else the host's address in the other family.
async fn connect(endpoint: &Endpoint, settings: &PoolSpec) -> Result<TcpStream, SendError> {
    let target = &endpoint.target;
    let first = connect_to(endpoint, target.address, settings).await;
    match (first, target.alternate) {
        (Err(error), Some(alternate)) if error.cause() == Cause::Unreachable => {
            let second = connect_to(endpoint, alternate, settings).await;
            second.map_err(|_| error)
        }
        (first, _) => first,
    }
}

async fn connect_to(
    endpoint: &Endpoint,
    address: SocketAddr,
    settings: &PoolSpec,
) -> Result<TcpStream, SendError> {
    if !settings.allow.permits(address.ip()) {
        return Err(unheard(Stage::Connect, Cause::Forbidden, endpoint));
    }
    let failed = |error: std::io::Error| {
        unheard(Stage::Connect, Cause::Unreachable, endpoint).because(error)
    };
    let stream = TcpStream::connect(address).await.map_err(failed)?;
    // A request is written whole: waiting for more to fill a segment only delays it.
    stream.set_nodelay(true).map_err(failed)?;
    net::outlive_peer(&stream).map_err(failed)?;
    if settings.protocol == Protocol::H2 {
        net::give_up_after(&stream, DEAF).map_err(failed)?;
    }
    Ok(stream)
}

fn unheard(stage: Stage, cause: Cause, endpoint: &Endpoint) -> SendError {
    SendError::new(stage, cause, false, endpoint)
}
