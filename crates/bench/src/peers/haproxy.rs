//! HAProxy's configs, each with one thread.

use super::{Door, Place};

/// A plain proxy.
pub fn tuned(place: &Place) -> String {
    let bind = match place.door {
        Door::Plain => "",
        Door::Http2 => " proto h2",
        Door::Tls => " ssl crt both.pem",
    };
    let log = match place.access_log {
        true => "option httplog\n    log global",
        false => "no log",
    };
    let (listen, origin) = (place.listen, place.origin);
    format!(
        "{GLOBAL}
{DEFAULTS}
    {log}
frontend clients
    bind {listen}{bind}
    option forwardfor
    default_backend origin
backend origin
    server one {origin}
"
    )
}

/// As many at once as the origin has places; the others wait, first come first served.
pub fn queue(place: &Place, limit: usize, wait_ms: u64) -> String {
    overload(place, limit, wait_ms, "")
}

/// The best that is known: tenants are ranked by how many requests they have under way.
pub fn expert(place: &Place, limit: usize, wait_ms: u64) -> String {
    let rank = "http-request track-sc0 req.hdr(x-tenant) table tenants
    http-request set-priority-class sc0_conn_cur";
    let table = "backend tenants
    stick-table type string len 64 size 100k expire 1m store conn_cur";
    overload(place, limit, wait_ms, rank) + table + "\n"
}

fn overload(place: &Place, limit: usize, wait_ms: u64, rank: &str) -> String {
    let (listen, origin) = (place.listen, place.origin);
    format!(
        "{GLOBAL}
{DEFAULTS}
    timeout queue {wait_ms}ms
    option abortonclose
    no log
frontend clients
    bind {listen}
    {rank}
    default_backend origin
backend origin
    server one {origin} maxconn {limit}
"
    )
}

const GLOBAL: &str = "global
    nbthread 1
    maxconn 9000
    log stdout format raw local0";

const DEFAULTS: &str = "defaults
    mode http
    maxconn 9000
    timeout connect 5s
    timeout client 60s
    timeout server 60s";
