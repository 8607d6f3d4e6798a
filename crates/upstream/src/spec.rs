//! What a pool is to be: endpoints, balancing, connections, health, patience.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use concurrency_gate::{BreakerConfig, Trip};
use http::uri::{Authority, Scheme};
use kernel::limits;

use crate::allow::Allow;
use crate::tls::ClientTls;

/// A pool as it is to be; [`Pool::update`](crate::Pool::update) takes another one live.
#[derive(Clone, Debug)]
pub struct PoolSpec {
    /// Its name in views and logs.
    pub name: Arc<str>,
    /// Where it sends to.
    pub endpoints: Vec<EndpointSpec>,
    /// How it chooses among them.
    pub balance: Balance,
    /// What it speaks.
    pub protocol: Protocol,
    /// With what it encrypts, for endpoints whose scheme is `https`.
    pub tls: Option<ClientTls>,
    /// Which addresses may be dialled.
    pub allow: Allow,
    /// Time for a connection to stand, TLS included.
    pub connect_timeout: Duration,
    /// How long a connection without work is kept.
    pub idle_time: Duration,
    /// Connections an endpoint may have in all.
    pub max_connections: usize,
    /// Streams on one HTTP/2 connection.
    pub max_streams: usize,
    /// Bytes of a response head, interim responses included.
    pub head_bytes: usize,
    /// Asks endpoints how they are, if any.
    pub health: Option<Health>,
    /// Learns from what becomes of requests.
    pub passive: BreakerConfig,
    /// Statuses that count as failures of the endpoint.
    pub failure_statuses: Vec<u16>,
    /// How long a newcomer's share grows from a tenth to the whole; zero for at once.
    pub slow_start: Duration,
    /// How often names are resolved again.
    pub dns_every: Duration,
}

/// One endpoint as configured: a name may stand for several addresses, each of them an endpoint of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSpec {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// A name or an address, without brackets.
    pub host: Arc<str>,
    /// Its port.
    pub port: u16,
    /// Its share beside the others', at least 1.
    pub weight: u32,
}

/// How a pool chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Each in turn, as often as its weight says.
    RoundRobin,
    /// The one with the fewest requests for its weight.
    LeastRequest,
    /// The cheaper of two taken at random: recent latency times requests in flight.
    #[default]
    PeakEwma,
    /// The same one for the same key, for as long as it is there.
    Hash,
}

/// What is spoken with the endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time on a connection.
    #[default]
    Http1,
    /// HTTP/2: by ALPN over TLS, with prior knowledge without.
    H2,
}

/// How an endpoint is asked how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// What is asked for; any 2xx or 3xx answer is good.
    pub path: Arc<str>,
    /// How often.
    pub every: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Good answers in a row until one that was down is up.
    pub healthy_after: u32,
    /// Bad answers in a row until one that was up is down.
    pub unhealthy_after: u32,
}

/// Why a text is no endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEndpoint {
    /// It does not parse.
    #[error("not a URL of the form http://host:port")]
    Malformed,
    /// Neither `http` nor `https`.
    #[error("the scheme is neither http nor https")]
    Scheme,
    /// Something after the port, or before the host.
    #[error("an endpoint has neither path, query nor user")]
    Extra,
}

impl EndpointSpec {
    /// Reads `http://host:port`; the scheme's port when none is given.
    pub fn parse(url: &str) -> Result<Self, BadEndpoint> {
        let uri: http::Uri = url.parse().map_err(|_| BadEndpoint::Malformed)?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(BadEndpoint::Malformed);
        };
        let default_port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return Err(BadEndpoint::Scheme),
        };
        if authority.as_str().contains('@') || !matches!(uri.path(), "" | "/") {
            return Err(BadEndpoint::Extra);
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(BadEndpoint::Extra);
        }
        if !is_host(authority.host()) {
            return Err(BadEndpoint::Malformed);
        }
        let after_host = &authority.as_str()[authority.host().len()..];
        let port = match (authority.port_u16(), after_host) {
            (None, "") => default_port,
            (None | Some(0), _) => return Err(BadEndpoint::Malformed),
            (Some(port), _) => port,
        };
        Ok(Self {
            scheme: scheme.clone(),
            host: bare_host(authority).into(),
            port,
            weight: 1,
        })
    }

    /// The same with this weight.
    #[must_use]
    pub fn weighing(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    /// Whether connections to it are encrypted.
    pub fn is_secure(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Whether it has to be resolved.
    pub(crate) fn is_name(&self) -> bool {
        self.host.parse::<IpAddr>().is_err()
    }

    /// What a `Host` field says when nobody else says anything.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.to_string()
        };
        match (self.is_secure(), self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// Whether it is an address, or looks like a name.
fn is_host(host: &str) -> bool {
    let literal = |host: &str| host.parse::<std::net::Ipv6Addr>().is_ok();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(inner) => literal(inner),
        None => !host.is_empty() && host.bytes().all(plain),
    }
}

fn bare_host(authority: &Authority) -> &str {
    let host = authority.host();
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host)
}

impl PoolSpec {
    /// A pool of these endpoints with what suits most.
    pub fn new(name: impl Into<Arc<str>>, endpoints: Vec<EndpointSpec>) -> Self {
        Self {
            name: name.into(),
            endpoints,
            balance: Balance::default(),
            protocol: Protocol::default(),
            tls: None,
            allow: Allow::Anything,
            connect_timeout: Duration::from_secs(1),
            idle_time: Duration::from_secs(30),
            max_connections: 4096,
            max_streams: 100,
            head_bytes: limits::HEAD_BYTES,
            health: None,
            passive: passive(),
            failure_statuses: vec![502, 503, 504],
            slow_start: Duration::from_secs(10),
            dns_every: Duration::from_secs(10),
        }
    }
}

/// Five failures in a row open it for two seconds; then one probe at a time, and a ramp.
pub fn passive() -> BreakerConfig {
    BreakerConfig {
        trip: Trip::Consecutive(5),
        window: Duration::from_secs(10),
        open_for: Duration::from_secs(2),
        probes: 1,
        ramp: Duration::from_secs(5),
    }
}

#[cfg(test)]
mod tests;
