//! Our own configs.

use std::net::SocketAddr;

use super::{Door, Place};

/// Everything on that a team would have on: routes, a quota, the fair queue, the limit, metrics.
pub fn realistic(place: &Place) -> String {
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
    let level = if place.access_log { "all" } else { "off" };
    let (node, origin) = (NODE, place.origin);
    format!(
        "{node}
[gateway]
trusted_hops = [\"127.0.0.0/8\"]
{doors}

[gateway.identity]
tenant_header = \"x-tenant\"

[gateway.access_log]
level = \"{level}\"

[gateway.quota]
per_tenant = {{ per_second = 1000000 }}

[gateway.queue]
items = 4096
per_tenant = 4096

[gateway.upstreams.main]
endpoints = [\"http://{origin}\"]
limit = 1000

[gateway.upstreams.other]
endpoints = [\"http://{origin}\"]

[[gateway.routes]]
path = \"/\"
upstream = \"main\"

[[gateway.routes]]
path = \"/api/v1\"
upstream = \"other\"

[[gateway.routes]]
hosts = [\"static.example.com\"]
upstream = \"other\"

[[gateway.routes]]
hosts = [\"*.example.org\"]
methods = [\"POST\", \"PUT\"]
upstream = \"other\"
"
    )
}

/// The one config of every overload scenario. Without a limit the gateway finds it.
pub fn overload(place: &Place, limit: Option<usize>, weights: &[(&str, u32)]) -> String {
    let (node, listen, origin) = (NODE, place.listen, place.origin);
    let limit = limit.map(|limit| format!("limit = {limit}\n"));
    let limit = limit.unwrap_or_default();
    let tenant = |(name, weight): &(&str, u32)| format!("{name} = {{ weight = {weight} }}\n");
    let tenants: String = weights.iter().map(tenant).collect();
    format!(
        "{node}
[gateway]
listen = [\"{listen}\"]
trusted_hops = [\"127.0.0.0/8\"]

[gateway.identity]
tenant_header = \"x-tenant\"

[gateway.access_log]
level = \"off\"

[gateway.tenants]
{tenants}
[gateway.upstreams.main]
endpoints = [\"http://{origin}\"]
{limit}
[[gateway.routes]]
path = \"/\"
upstream = \"main\"
"
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
    format!(
        "{NODE}
[edge]
listen = [\"{listen}\"]

[edge.limits]
rps = 0

[edge.access_log]
level = \"off\"
{packs}"
    )
}

const NODE: &str = "[admin]
listen = \"127.0.0.1:0\"
";
