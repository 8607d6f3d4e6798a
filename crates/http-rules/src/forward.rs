//! What goes on to the next server: which headers end here, who asked, through whom, and what is asked for.

mod client;
mod cookies;
mod hop_by_hop;
mod hops;
mod origin;
mod trailers;
mod upgrade;
mod via;

pub use client::{Trail, client_address, client_host, client_proto, is_trusted};
pub use cookies::join_cookies;
pub use hop_by_hop::{is_hop_by_hop, strip_hop_by_hop};
pub use hops::{count_hop, hops_left};
pub use origin::{Fields, Forwarding, Hop, is_claim};
pub(crate) use trailers::means_something;
pub use trailers::{strip_call_trailers, strip_trailers};
pub use upgrade::{agrees_to_upgrade, request_upgrade, requested_upgrade};
pub use via::Node;

use http::{HeaderMap, HeaderName};

/// Removes every header whose name `gone` picks. Nothing is allocated while at most one is met.
fn remove_where(headers: &mut HeaderMap, gone: impl Fn(&HeaderName) -> bool) {
    let Some(first) = headers.keys().find(|name| gone(name)).cloned() else {
        return;
    };
    headers.remove(first);
    let rest: Vec<HeaderName> = headers.keys().filter(|name| gone(name)).cloned().collect();
    for name in rest {
        headers.remove(name);
    }
}
