//! nginx's configs. One process: what it is measured with is what a worker does.

use std::net::SocketAddr;

use super::configs::{self, fill};
use super::launch::ACCESS_LOG;
use super::{Door, Place};

const TLS: &str = "ssl_certificate cert.pem;
        ssl_certificate_key key.pem;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_session_cache shared:tls:10m;";

/// More than any measurement but that of memory opens.
const CONNECTIONS: usize = 16_384;

/// A tuned proxy: connections kept on both sides, nothing written to disk.
pub fn tuned(place: &Place) -> String {
    wide(place, CONNECTIONS)
}

/// The same for another number of connections.
pub fn wide(place: &Place, connections: usize) -> String {
    let (door, tls) = match place.door {
        Door::Plain => ("", ""),
        Door::Http2 => (" http2", ""),
        Door::Tls => (" ssl", TLS),
    };
    let log = match place.access_log {
        true => format!("access_log {ACCESS_LOG} combined;"),
        false => "access_log off;".to_owned(),
    };
    let connections = connections.to_string();
    let values = [
        ("door", door),
        ("tls", tls),
        ("access_log", log.as_str()),
        ("connections", &connections),
    ];
    between(configs::NGINX_TUNED, place, &values)
}

/// The same with a master, which reloads. Each generation is another text.
pub fn reloading(place: &Place, generation: usize) -> String {
    let generation = format!("generation {generation}");
    between(configs::NGINX_RELOAD, place, &[("generation", &generation)])
}

/// Files beside the config, opened once and sent by the kernel.
pub fn files(listen: SocketAddr) -> String {
    fill(configs::NGINX_FILES, &[("listen", &listen.to_string())])
}

/// A cache on disk before the origin.
pub fn cache(place: &Place) -> String {
    between(configs::NGINX_CACHE, place, &[])
}

/// As Debian packages it, with the one line that makes it a proxy.
pub fn packaged(place: &Place) -> String {
    between(configs::NGINX_PACKAGED, place, &[])
}

/// As many at once as the origin has places; who comes beyond is refused.
pub fn max_conns(place: &Place, limit: usize) -> String {
    let limit = limit.to_string();
    between(configs::NGINX_MAX_CONNS, place, &[("limit", &limit)])
}

/// So many at once of each tenant.
pub fn limit_conn(place: &Place, per_tenant: usize) -> String {
    let per_tenant = per_tenant.to_string();
    between(
        configs::NGINX_LIMIT_CONN,
        place,
        &[("per_tenant", &per_tenant)],
    )
}

fn between(config: &str, place: &Place, more: &[(&str, &str)]) -> String {
    let (listen, origin) = (place.listen.to_string(), place.origin.to_string());
    let mut values = vec![("listen", listen.as_str()), ("origin", &origin)];
    values.extend(more);
    fill(config, &values)
}
