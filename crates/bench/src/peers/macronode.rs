//! Our own configs.

use std::net::SocketAddr;

use super::configs::{self, fill};
use super::{Door, Place};

const LIMIT: usize = 1_000;
/// What the node has by default.
const CONNECTIONS: usize = 16_384;

/// How much there is of what may grow.
#[derive(Clone, Copy, Debug)]
pub struct Size<'a> {
    /// Where requests go.
    pub endpoints: &'a [SocketAddr],
    /// Routes beside the usual four: `/r0` and so on.
    pub routes: usize,
    /// Connections of the door.
    pub connections: usize,
    /// Requests at once upstream.
    pub limit: usize,
}

/// Everything on that a team would have on: routes, a quota, the fair queue, the limit, metrics.
pub fn realistic(place: &Place) -> String {
    let size = Size {
        endpoints: &[place.origin],
        routes: 0,
        connections: CONNECTIONS,
        limit: LIMIT,
    };
    sized(place, &size)
}

/// The same, of another size.
pub fn sized(place: &Place, size: &Size<'_>) -> String {
    let doors = match place.door {
        Door::Plain | Door::Http2 => format!("listen = [\"{}\"]", place.listen),
        Door::Tls => format!(
            "listen = []

[gateway.tls]
listen = [\"{}\"]
certificates = [{{ cert = \"cert.pem\", key = \"key.pem\", default = true }}]",
            place.listen
        ),
    };
    let endpoint = |endpoint: &SocketAddr| format!("\"http://{endpoint}\"");
    let endpoints: Vec<String> = size.endpoints.iter().map(endpoint).collect();
    let route =
        |number| format!("\n[[gateway.routes]]\npath = \"/r{number}\"\nupstream = \"main\"\n");
    let routes: String = (0..size.routes).map(route).collect();
    let level = if place.access_log { "all" } else { "off" };
    fill(
        configs::GATEWAY,
        &[
            ("doors", &doors),
            ("connections", &size.connections.to_string()),
            ("access_log", level),
            ("endpoints", &endpoints.join(", ")),
            ("limit", &size.limit.to_string()),
            ("origin", &place.origin.to_string()),
            ("routes", &routes),
        ],
    )
}

/// The one config of every overload scenario. Without a limit the gateway finds it.
pub fn overload(place: &Place, limit: Option<usize>, weights: &[(&str, u32)]) -> String {
    let limit = limit.map(|limit| format!("limit = {limit}\n"));
    let tenant = |(name, weight): &(&str, u32)| format!("{name} = {{ weight = {weight} }}\n");
    let tenants: String = weights.iter().map(tenant).collect();
    fill(
        configs::OVERLOAD,
        &[
            ("listen", &place.listen.to_string()),
            ("origin", &place.origin.to_string()),
            ("tenants", &tenants),
            ("limit", &limit.unwrap_or_default()),
        ],
    )
}

/// Pools of so many workers behind a door for HTTP and one for frames; `admin` is where, and the token.
pub fn workers(
    place: &Place,
    frames: SocketAddr,
    admin: (SocketAddr, &str),
    workers: usize,
) -> String {
    fill(
        configs::WORKERS,
        &[
            ("listen", &place.listen.to_string()),
            ("origin", &place.origin.to_string()),
            ("frames", &frames.to_string()),
            ("admin", &admin.0.to_string()),
            ("token", admin.1),
            ("workers", &workers.to_string()),
        ],
    )
}

/// Packs beside the config, each in a file of its own name, without a limit on requests a second.
pub fn packs(listen: SocketAddr, names: &[&str]) -> String {
    let pack = |name: &&str| {
        format!(
            "
[[edge.packs]]
name = \"{name}\"
path = \"{name}.pmtiles\"
"
        )
    };
    let packs: String = names.iter().map(pack).collect();
    fill(
        configs::PACKS,
        &[("listen", &listen.to_string()), ("packs", &packs)],
    )
}

/// A cache in memory and on disk before the origin, below `/o`.
pub fn cache(place: &Place) -> String {
    fill(
        configs::CACHE,
        &[
            ("listen", &place.listen.to_string()),
            ("origin", &place.origin.to_string()),
        ],
    )
}
