//! Rates: by address, tenant, route and in all. All are looked at before any is taken from.

use std::net::IpAddr;
use std::time::Duration;

use http::HeaderValue;
use http_rules::ratelimit::{self, Policy};
use rate_quota::{Allowed, Denied, Quota, Rate};

use crate::config::{QuotaText, RateText};

/// Keys that may be short of units at once, per rate. Others share what is left, so memory never grows.
const KEYS: usize = 1 << 16;

/// Whose rate it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Everybody,
    Address,
    Tenant,
    Route,
}

/// The rates that hold for every route.
#[derive(Debug)]
pub(crate) struct Quotas {
    pub(crate) everybody: Option<Rated>,
    pub(crate) per_address: Option<Rated>,
    pub(crate) per_tenant: Option<Rated>,
    pub(crate) verifications: Quota,
}

/// A rate, and what is said of it to all whom it holds for.
#[derive(Debug)]
pub(crate) struct Rated {
    quota: Quota,
    whose: Whose,
    /// The same in every answer, so made once.
    policy: HeaderValue,
}

/// One rate and the key it is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) rated: &'a Rated,
    pub(crate) key: u64,
}

/// A request over its rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OverRate {
    pub(crate) whose: Whose,
    pub(crate) retry_after: Duration,
    pub(crate) standing: Standing,
}

/// What a caller may still do, for its `RateLimit` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) whose: Whose,
    pub(crate) policy: HeaderValue,
    pub(crate) remaining: u32,
    pub(crate) reset_after: Duration,
}

/// Verifications that one address may cause, unless configured: enough for a crowd behind one address, too few to
/// keep a core busy with signatures.
const VERIFICATIONS: RateText = RateText {
    per_second: 20,
    burst: Some(100),
};

impl Quotas {
    pub(crate) fn new(text: &QuotaText) -> Self {
        let rated = |rate: Option<RateText>, whose| rate.map(|rate| Rated::new(&rate, whose));
        Self {
            everybody: rated(text.global, Whose::Everybody),
            per_address: rated(text.per_ip, Whose::Address),
            per_tenant: rated(text.per_tenant, Whose::Tenant),
            verifications: new(&text.verifications_per_ip.unwrap_or(VERIFICATIONS)),
        }
    }
}

impl Rated {
    pub(crate) fn new(text: &RateText, whose: Whose) -> Self {
        let quota = new(text);
        let policy = ratelimit::policies(&[Policy {
            name: whose.policy(),
            quota: quota.rate().max_burst().into(),
            window: Duration::from_secs(1),
        }]);
        Self {
            quota,
            whose,
            policy: policy.expect("a name of letters is a value"),
        }
    }
}

/// A quota of this rate. The text form only allows rates that there are.
fn new(text: &RateText) -> Quota {
    let burst = text.burst.unwrap_or(text.per_second);
    let rate =
        Rate::new(text.per_second, Duration::from_secs(1)).and_then(|rate| rate.burst(burst));
    Quota::new(rate.expect("the schema bounds rates and bursts"), KEYS)
}

/// One unit of every window, or of none. The answer is the standing in the one that is nearest to its end.
pub(crate) fn take(
    windows: &[Option<Window<'_>>],
    now: Duration,
) -> Result<Option<Standing>, OverRate> {
    let given = windows.iter().flatten();
    if windows.iter().flatten().count() > 1 {
        for window in given.clone() {
            if window
                .rated
                .quota
                .check(window.key, 0, now)
                .is_ok_and(|left| left.remaining() == 0)
            {
                window.take(now)?;
            }
        }
    }
    let mut tightest: Option<(&Window<'_>, Allowed)> = None;
    for window in given {
        let left = window.take(now)?;
        if tightest.is_none_or(|(_, known)| left.remaining() < known.remaining()) {
            tightest = Some((window, left));
        }
    }
    Ok(tightest.map(|(window, left)| window.standing(left.remaining(), left.reset_after())))
}

impl Window<'_> {
    fn take(&self, now: Duration) -> Result<Allowed, OverRate> {
        let taken = self.rated.quota.check(self.key, 1, now);
        taken.map_err(|denied| self.over(denied))
    }

    fn standing(&self, remaining: u32, reset_after: Duration) -> Standing {
        Standing {
            whose: self.rated.whose,
            policy: self.rated.policy.clone(),
            remaining,
            reset_after,
        }
    }

    #[cold]
    fn over(&self, denied: Denied) -> OverRate {
        let never = Duration::from_secs(3600);
        let (retry_after, remaining, reset_after) = match denied {
            Denied::For { retry_after, left } => {
                (retry_after, left.remaining(), left.reset_after())
            }
            Denied::Forever => (never, 0, never),
        };
        OverRate {
            whose: self.rated.whose,
            retry_after,
            standing: self.standing(remaining, reset_after),
        }
    }
}

impl Whose {
    /// Its name in the `RateLimit` header.
    pub(crate) fn policy(self) -> &'static str {
        match self {
            Whose::Everybody => "global",
            Whose::Address => "ip",
            Whose::Tenant => "tenant",
            Whose::Route => "route",
        }
    }
}

/// The key of an address: a household in IPv6 has a whole /64 to choose from.
pub(crate) fn address_key(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(v4) => u64::from(u32::from(v4)) | 0xffff_0000_0000,
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => address_key(IpAddr::V4(v4)),
            None => (u128::from(v6) >> 64) as u64,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_second: u32, whose: Whose) -> Rated {
        let burst = None;
        Rated::new(&RateText { per_second, burst }, whose)
    }

    fn window(rated: &Rated) -> Option<Window<'_>> {
        let key = 1;
        Some(Window { rated, key })
    }

    // req: GW-06
    #[test]
    fn a_request_over_one_rate_costs_nothing_in_the_others() {
        let (wide, narrow) = (rate(10, Whose::Address), rate(1, Whose::Tenant));
        let windows = [window(&wide), window(&narrow)];
        let now = Duration::from_secs(5);
        let first = take(&windows, now).unwrap().unwrap();
        assert_eq!((first.whose, first.remaining), (Whose::Tenant, 0));
        assert_eq!(first.policy, "\"tenant\";q=1;w=1");
        for _ in 0..50 {
            let over = take(&windows, now).unwrap_err();
            assert_eq!(over.whose, Whose::Tenant);
            assert!(over.retry_after <= Duration::from_secs(1));
        }
        let left = wide.quota.check(1, 0, now).unwrap();
        assert_eq!(left.remaining(), 9);
        assert!(
            take(&windows, now + Duration::from_secs(1)).is_ok(),
            "the advice was true"
        );
    }

    // req: GW-06
    #[test]
    fn addresses_of_one_v6_network_are_one_source() {
        let key = |text: &str| address_key(text.parse().unwrap());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:1"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:10.0.0.1"), key("10.0.0.1"));
        assert_ne!(key("10.0.0.1"), key("10.0.0.2"));
    }

    #[test]
    fn without_any_rate_nothing_is_asked() {
        assert_eq!(take(&[None, None], Duration::ZERO), Ok(None));
    }
}
