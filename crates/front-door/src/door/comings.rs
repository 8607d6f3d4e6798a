//! How often an address may come.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use kernel::clock::Timeline;
use rate_quota::{Quota, Rate};

/// Addresses whose rate is remembered at once; a table of fixed size.
const ADDRESSES: usize = 16 * 1024;

/// The comings to one door.
pub(super) struct Comings {
    timeline: Timeline,
    quota: ArcSwapOption<Quota>,
}

impl Comings {
    pub(super) fn new(timeline: Timeline) -> Self {
        Self {
            timeline,
            quota: ArcSwapOption::empty(),
        }
    }

    /// Whether this address may open one more connection.
    pub(super) fn may_come(&self, address: IpAddr, rate: Option<Rate>) -> bool {
        let Some(rate) = rate else { return true };
        let mut quota = self.quota.load_full();
        if quota.as_ref().is_none_or(|quota| quota.rate() != rate) {
            quota = Some(Arc::new(Quota::new(rate, ADDRESSES)));
            self.quota.store(quota.clone());
        }
        let now = self.timeline.now();
        quota.is_none_or(|quota| quota.check(source(address), 1, now).is_ok())
    }
}

/// Who is behind an address: whoever has one of IPv6 has a whole /64 of them.
fn source(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => u64::from(u32::from(address)),
        // No address of IPv4 has a bit above the lowest 32.
        IpAddr::V6(address) => ((u128::from(address) >> 64) as u64) | 1 << 63,
    }
}
