//! The config of the simulated node, in the variants a reload may bring.

use std::net::SocketAddr;

pub(crate) const ADMIN: SocketAddr = local(9600);
pub(crate) const HTTP: SocketAddr = local(8080);
pub(crate) const EDGE: SocketAddr = local(8640);
pub(crate) const FRAMES: SocketAddr = local(8650);
const OVERLAY: SocketAddr = local(8660);
/// Those of the upstream `main`, and the one of `side`.
pub(crate) const ORIGINS: [SocketAddr; 4] = [local(9001), local(9002), local(9003), local(9004)];
pub(crate) const TOKEN: &str = "whoever simulates";
/// Requests `main` takes at once.
pub(crate) const LIMIT: usize = 16;
/// Until an answer begins.
pub(crate) const REQUEST_MS: u64 = 2_000;
/// The one tenant with a rate of its own.
pub(crate) const RATED: &str = "bronze";
pub(crate) const WORKERS: usize = 12;

const fn local(port: u16) -> SocketAddr {
    SocketAddr::V4(std::net::SocketAddrV4::new(
        std::net::Ipv4Addr::LOCALHOST,
        port,
    ))
}

/// A config; each `variant` differs from the others in what a reload may change.
pub(crate) fn text(variant: u64) -> String {
    let [first, second, third, side] = ORIGINS;
    let (rate, body) = (4 + variant % 3, 1_000_000 + variant % 5);
    format!(
        r#"[admin]
listen = "{ADMIN}"
token = "{TOKEN}"

[gateway]
listen = ["{HTTP}"]
dispatch = "pool"
workers = {WORKERS}
trusted_hops = ["127.0.0.0/8"]

[gateway.identity]
tenant_header = "x-tenant"

[gateway.tenants.gold]
weight = 3

[gateway.tenants.{RATED}]
rate = {{ per_second = {rate}, burst = 10 }}

[gateway.tenants.ops]
class = "internal"

[gateway.queue]
wait_ms = 1500

[gateway.limits]
body_bytes = {body}

[gateway.timeouts]
request_ms = {REQUEST_MS}

[[gateway.routes]]
name = "side"
path = "/side"
upstream = "side"

[[gateway.routes]]
name = "main"
path = "/"
upstream = "main"

[gateway.upstreams.main]
endpoints = ["http://{first}", "http://{second}", "http://{third}"]
limit = {LIMIT}
adaptive = false
health = {{ path = "/health" }}

[gateway.upstreams.side]
endpoints = ["http://{side}"]

[edge]
listen = ["{EDGE}"]
packs = [{{ name = "world", path = "demo:world" }}]

[transport]
listen = ["{FRAMES}"]
bridge = true

[overlay]
listen = ["{OVERLAY}"]
"#
    )
}

/// One that must be refused as a whole.
pub(crate) fn bad(variant: u64) -> String {
    let text = text(variant);
    match variant % 3 {
        0 => text.replace("weight = 3", "weight = 0"),
        1 => text.replace("upstream = \"side\"", "upstream = \"nobody\""),
        _ => text.replace("[edge]", "[edge"),
    }
}
