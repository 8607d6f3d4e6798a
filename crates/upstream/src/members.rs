//! Who belongs to a pool: the spec and what its names resolve to, put together into a fleet.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kernel::clock;

use crate::endpoint::{Common, Endpoint, Target};
use crate::pool::NoEndpoint;
use crate::spec::{EndpointSpec, PoolSpec};

/// Addresses one name may stand for; more are ignored.
const ADDRESSES_MAX: usize = 64;

/// What requests choose from: replaced as a whole.
pub(crate) struct Fleet {
    pub(crate) spec: Arc<PoolSpec>,
    pub(crate) endpoints: Box<[Arc<Endpoint>]>,
    /// Whether all weigh the same.
    pub(crate) uniform: bool,
}

impl Default for Fleet {
    fn default() -> Self {
        Self {
            spec: Arc::new(PoolSpec::new("", Vec::new())),
            endpoints: Box::default(),
            uniform: true,
        }
    }
}

impl Fleet {
    #[cold]
    /// Those of `before` who are no members any more go.
    pub(crate) fn dismiss(&self, before: &Self) {
        for gone in &before.endpoints {
            if !self.endpoints.iter().any(|one| Arc::ptr_eq(one, gone)) {
                gone.leave();
            }
        }
    }

    pub(crate) fn why_none(&self, at: Duration) -> NoEndpoint {
        let up = || self.endpoints.iter().filter(|one| !one.is_down());
        if self.endpoints.is_empty() {
            return NoEndpoint::NoneResolved;
        }
        if up().any(|one| !one.is_guarded()) {
            return NoEndpoint::AllBusy;
        }
        let first = up().map(|one| one.retry_after(at)).min();
        first.map_or(NoEndpoint::NoneHealthy, |retry_after| NoEndpoint::AllOpen {
            retry_after,
        })
    }
}

pub(crate) struct Members {
    spec: Arc<PoolSpec>,
    /// What each name was last resolved to; a failure to resolve it again changes nothing.
    known: HashMap<(Arc<str>, u16), Vec<SocketAddr>>,
    /// Whether it has had endpoints: those that come later ramp up.
    established: bool,
}

impl Members {
    pub(crate) fn new(spec: PoolSpec) -> Self {
        Self {
            spec: Arc::new(spec),
            known: HashMap::new(),
            established: false,
        }
    }

    pub(crate) fn set_spec(&mut self, spec: PoolSpec) {
        self.spec = Arc::new(spec);
        let endpoints = &self.spec.endpoints;
        self.known
            .retain(|place, _| endpoints.iter().any(|one| place_of(one) == *place));
    }

    pub(crate) fn set_addresses(&mut self, endpoint: &EndpointSpec, addresses: Vec<SocketAddr>) {
        let wanted = |one: &EndpointSpec| place_of(one) == place_of(endpoint);
        // The spec may have changed while the name was being resolved.
        if self.spec.endpoints.iter().any(wanted) {
            self.known.insert(place_of(endpoint), addresses);
        }
    }

    pub(crate) fn addresses(&self, endpoint: &EndpointSpec) -> Option<&Vec<SocketAddr>> {
        self.known.get(&place_of(endpoint))
    }

    /// The fleet as it should be now: whoever is in `before` and stays is taken over. The others are told to go once
    /// it is in force.
    pub(crate) fn assemble(&mut self, before: &Fleet, common: &Common) -> Fleet {
        let now = clock::now().saturating_duration_since(common.origin);
        let mut endpoints: Vec<Arc<Endpoint>> = Vec::new();
        for target in self.targets() {
            let same = |one: &&Arc<Endpoint>| one.target.is_same(&target);
            if endpoints.iter().any(|one| one.target.is_same(&target)) {
                continue;
            }
            if let Some(stays) = before.endpoints.iter().find(same) {
                stays.adopt(&target, &self.spec);
                endpoints.push(stays.clone());
                continue;
            }
            let newcomer = Endpoint::new(target, self.spec.clone(), common.clone());
            if self.established {
                newcomer.join(now);
            }
            endpoints.push(Arc::new(newcomer));
        }
        self.established |= !endpoints.is_empty();
        Fleet {
            spec: self.spec.clone(),
            uniform: is_uniform(&endpoints),
            endpoints: endpoints.into_boxed_slice(),
        }
    }

    fn targets(&self) -> Vec<Target> {
        let addresses = |spec: &EndpointSpec| match spec.host.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, spec.port)],
            Err(_) => self.known.get(&place_of(spec)).cloned().unwrap_or_default(),
        };
        let specs = self.spec.endpoints.iter();
        specs
            .flat_map(|spec| targets_of(spec, &addresses(spec)))
            .collect()
    }
}

/// One target per address of one family: IPv4 where there is any, with the IPv6 address beside it to fall back on.
fn targets_of(spec: &EndpointSpec, addresses: &[SocketAddr]) -> Vec<Target> {
    let (four, six): (Vec<_>, Vec<_>) = addresses.iter().partition(|one| one.is_ipv4());
    let (first, other): (Vec<SocketAddr>, Vec<SocketAddr>) = if four.is_empty() {
        (six, four)
    } else {
        (four, six)
    };
    let paired = first.len() == other.len();
    let target = |(index, address): (usize, SocketAddr)| Target {
        spec: spec.clone(),
        address,
        alternate: other.get(index).copied().filter(|_| paired),
    };
    first
        .into_iter()
        .take(ADDRESSES_MAX)
        .enumerate()
        .map(target)
        .collect()
}

fn place_of(spec: &EndpointSpec) -> (Arc<str>, u16) {
    (spec.host.clone(), spec.port)
}

fn is_uniform(endpoints: &[Arc<Endpoint>]) -> bool {
    let mut weights = endpoints.iter().map(|one| one.weight());
    let first = weights.next();
    weights.all(|weight| Some(weight) == first)
}

#[cfg(test)]
mod tests;
