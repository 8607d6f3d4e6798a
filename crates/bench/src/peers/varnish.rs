//! Varnish's configs.

use std::net::SocketAddr;

/// A cache in memory before the origin; what it is asked for once it keeps for an hour.
pub fn cache(origin: SocketAddr) -> String {
    let (host, port) = (origin.ip(), origin.port());
    format!(
        "vcl 4.1;

backend default {{
    .host = \"{host}\";
    .port = \"{port}\";
}}

sub vcl_backend_response {{
    set beresp.ttl = 1h;
}}
"
    )
}
