//! HAProxy's configs, each with one thread.

use super::configs::{self, fill};
use super::{Door, Place};

/// More than any measurement opens, and within what a process may.
const CONNECTIONS: usize = 9_000;

/// A plain proxy.
pub fn tuned(place: &Place) -> String {
    wide(place, CONNECTIONS)
}

/// The same for more connections.
pub fn wide(place: &Place, connections: usize) -> String {
    let door = match place.door {
        Door::Plain => "",
        Door::Http2 => " proto h2",
        Door::Tls => " ssl crt both.pem",
    };
    let log = match place.access_log {
        true => "option httplog\n    log global",
        false => "no log",
    };
    let values = [("door", door), ("log", log)];
    between(configs::HAPROXY_TUNED, place, connections, &values)
}

/// As many at once as the origin has places; the others wait, first come first served.
pub fn queue(place: &Place, limit: usize, wait_ms: u64) -> String {
    overload(configs::HAPROXY_QUEUE, place, limit, wait_ms)
}

/// The best that is known: tenants are ranked by how many requests they have under way.
pub fn expert(place: &Place, limit: usize, wait_ms: u64) -> String {
    overload(configs::HAPROXY_EXPERT, place, limit, wait_ms)
}

fn overload(config: &str, place: &Place, limit: usize, wait_ms: u64) -> String {
    let (limit, wait_ms) = (limit.to_string(), wait_ms.to_string());
    let values = [("limit", limit.as_str()), ("wait_ms", &wait_ms)];
    between(config, place, CONNECTIONS, &values)
}

fn between(config: &str, place: &Place, connections: usize, more: &[(&str, &str)]) -> String {
    let (listen, origin) = (place.listen.to_string(), place.origin.to_string());
    let connections = connections.to_string();
    let mut values = vec![
        ("listen", listen.as_str()),
        ("origin", &origin),
        ("connections", &connections),
    ];
    values.extend(more);
    fill(config, &values)
}
