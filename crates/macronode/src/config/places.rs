//! Where the node listens: each address once, whichever services ask for it.

use std::net::{IpAddr, SocketAddr};

use strict_config::Report;
use svc_edge::Edge;
use svc_gateway::Gateway;
use svc_transport::config::TransportText;

use super::NodeText;
use crate::overlay::config::OverlayText;

/// An address, and the key that asks for it.
type Place = (&'static str, SocketAddr);

/// Says which two addresses are one place to listen; what a service asks for twice to the letter it says itself.
pub(super) fn twice(text: &NodeText, report: &mut Report) {
    let all = all(text);
    for (index, (key, address)) in all.iter().enumerate() {
        let mut before = all[..index].iter();
        let taken = before.find(|(other, taken)| {
            let told = service(other) == service(key) && taken == address;
            !told && overlap(*taken, *address)
        });
        if let Some((other, taken)) = taken {
            let what = format!("{other} = {taken} and {key} = {address} are one place to listen");
            let keys = [*key, *other];
            let keys = if key == other { &keys[..1] } else { &keys };
            report.contradiction(keys, what, "give each a port of its own");
        }
    }
}

/// Whose key it is; the origin of a demonstration stands apart from it.
fn service(key: &str) -> &str {
    match key {
        "demo.crowd.origin" => "origin",
        _ => key.split('.').next().unwrap_or(key),
    }
}

fn all(text: &NodeText) -> Vec<Place> {
    let mut all = vec![("admin.listen", text.admin.listen)];
    let mut add = |keys: [&'static str; 2],
                   addresses: Option<(Vec<SocketAddr>, Vec<SocketAddr>)>| {
        let (plain, secure) = addresses.unwrap_or_default();
        all.extend(plain.into_iter().map(|address| (keys[0], address)));
        all.extend(secure.into_iter().map(|address| (keys[1], address)));
    };
    let gateway = text.gateway.as_ref().map(Gateway::addresses);
    add(["gateway.listen", "gateway.tls.listen"], gateway);
    let edge = text.edge.as_ref().map(Edge::addresses);
    add(["edge.listen", "edge.tls.listen"], edge);
    let transport = text.transport.as_ref().map(TransportText::addresses);
    add(["transport.listen", "transport.tls.listen"], transport);
    let overlay = text.overlay.as_ref().map(OverlayText::addresses);
    add(["overlay.listen", "overlay.tls.listen"], overlay);
    if let Some(demo) = &text.demo {
        all.push(("demo.listen", demo.listen));
        let origin = demo.crowd.as_ref().map(|crowd| crowd.origin);
        all.extend(origin.map(|origin| ("demo.crowd.origin", origin)));
    }
    all
}

/// Whether the system gives only one of them: port 0 is a different one each time, and who listens on all addresses has
/// each of them; on all of IPv6 those of IPv4 too.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let covers = |all: IpAddr, ip: IpAddr| all.is_unspecified() && (all.is_ipv6() || ip.is_ipv4());
    let (here, there) = (one.ip(), other.ip());
    let meet = here == there || covers(here, there) || covers(there, here);
    one.port() != 0 && one.port() == other.port() && meet
}
