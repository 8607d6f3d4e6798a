//! Varnish's configs.

use std::net::SocketAddr;

use super::configs::{self, fill};

/// A cache in memory before the origin; what it is asked for once it keeps for an hour.
pub fn cache(origin: SocketAddr) -> String {
    let (host, port) = (origin.ip().to_string(), origin.port().to_string());
    fill(configs::VARNISH_CACHE, &[("host", &host), ("port", &port)])
}
