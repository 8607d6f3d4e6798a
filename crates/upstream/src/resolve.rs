//! Names to addresses, on a blocking thread and within a time; only addresses that may be dialled are kept.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use kernel::blocking::Blocking;

use crate::meters::Meters;
use crate::spec::{EndpointSpec, PoolSpec};

/// Time a name has to resolve. A lookup cannot be broken off: its thread stays taken until the system gives up, which
/// is why there are only so many of them.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The addresses of a name, or nothing: then what was known before still holds.
pub(crate) async fn resolve(
    endpoint: &EndpointSpec,
    settings: &PoolSpec,
    blocking: &Blocking,
    meters: &Meters,
) -> Option<Vec<SocketAddr>> {
    let (host, port) = (endpoint.host.clone(), endpoint.port);
    let look_up = blocking.run(move || {
        let found = (&*host, port).to_socket_addrs();
        found.map(Iterator::collect::<Vec<_>>)
    });
    let failed = |why: &dyn std::fmt::Display| {
        tracing::warn!(pool = %settings.name, host = %endpoint.host, "cannot resolve: {why}");
    };
    let found = match tokio::time::timeout(RESOLVE_TIMEOUT, look_up).await {
        Ok(Ok(Ok(found))) => found,
        Ok(Ok(Err(error))) => {
            meters.resolve_failed.inc();
            failed(&error);
            return None;
        }
        Ok(Err(reject)) => {
            meters.resolve_failed.inc();
            failed(&reject);
            return None;
        }
        Err(late) => {
            meters.resolve_timeout.inc();
            failed(&late);
            return None;
        }
    };
    let kept = permitted(found, settings);
    if kept.is_empty() {
        meters.resolve_forbidden.inc();
        failed(&"none of its addresses may be dialled");
        return None;
    }
    meters.resolved.inc();
    Some(kept)
}

/// In an order that does not depend on the resolver's mood.
fn permitted(found: Vec<SocketAddr>, settings: &PoolSpec) -> Vec<SocketAddr> {
    let mut kept: Vec<SocketAddr> = found
        .into_iter()
        .filter(|address| settings.allow.permits(address.ip()))
        .collect();
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests;
