//! Rates: by address, tenant, route and in all. All are looked at before any is taken from.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http_rules::ratelimit::{self, Policy};
use rate_quota::{Allowed, Denied, Quota, Rate};

use crate::config::{QuotaText, RateText};

/// Keys that may be short of units at once, in a rate of many. Others share what is left, so memory never grows.
const KEYS: usize = 1 << 16;
/// A config may hold thousands of rates that are one party's each: such a rate has no room for more.
const ONE_KEY: usize = 1;

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
    pub(crate) everybody: Option<Arc<Rated>>,
    pub(crate) per_address: Option<Arc<Rated>>,
    pub(crate) per_tenant: Option<Arc<Rated>>,
    pub(crate) verifications: Arc<Quota>,
}

/// A rate, and what is said of it to all whom it holds for.
#[derive(Debug)]
pub(crate) struct Rated {
    quota: Arc<Quota>,
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
    /// The rates of a config; what was taken under the one before stays taken.
    pub(crate) fn new(text: &QuotaText, before: Option<&Self>, now: Duration) -> Self {
        let rated = |text: Option<RateText>, known: Option<&Option<Arc<Rated>>>, whose, keys| {
            let known = known.and_then(Option::as_ref);
            text.map(|text| Rated::new(&text, whose, keys, known, now))
        };
        let verifications = text.verifications_per_ip.unwrap_or(VERIFICATIONS);
        let verified = before.map(|before| &before.verifications);
        Self {
            everybody: rated(
                text.global,
                before.map(|b| &b.everybody),
                Whose::Everybody,
                ONE_KEY,
            ),
            per_address: rated(
                text.per_ip,
                before.map(|b| &b.per_address),
                Whose::Address,
                KEYS,
            ),
            per_tenant: rated(
                text.per_tenant,
                before.map(|b| &b.per_tenant),
                Whose::Tenant,
                KEYS,
            ),
            verifications: quota(rate(&verifications), KEYS, verified, now),
        }
    }
}

impl Rated {
    /// A rate that is asked for one key, whichever; what was taken under the one before stays taken.
    pub(crate) fn of_one(
        text: &RateText,
        whose: Whose,
        before: Option<&Arc<Self>>,
        now: Duration,
    ) -> Arc<Self> {
        Self::new(text, whose, ONE_KEY, before, now)
    }

    /// The same for so many keys.
    fn new(
        text: &RateText,
        whose: Whose,
        keys: usize,
        before: Option<&Arc<Self>>,
        now: Duration,
    ) -> Arc<Self> {
        let rate = rate(text);
        if let Some(before) = before.filter(|before| before.quota.rate() == rate) {
            return before.clone();
        }
        let policy = ratelimit::policies(&[policy(text, whose)]);
        Arc::new(Self {
            quota: quota(rate, keys, before.map(|before| &before.quota), now),
            whose,
            policy: policy.expect("a name of letters is a value"),
        })
    }
}

/// What may be done in a time of whole seconds: the burst where it takes so long to come back, else a second's.
fn policy(text: &RateText, whose: Whose) -> Policy<'static> {
    let (burst, per_second) = (text.burst.unwrap_or(text.per_second), text.per_second);
    Policy {
        name: whose.policy(),
        quota: burst.max(per_second).into(),
        window: Duration::from_secs(burst.div_ceil(per_second).into()),
    }
}

/// The text form only allows rates that there are.
fn rate(text: &RateText) -> Rate {
    let burst = text.burst.unwrap_or(text.per_second);
    let rate =
        Rate::new(text.per_second, Duration::from_secs(1)).and_then(|rate| rate.burst(burst));
    rate.expect("the schema bounds rates and bursts")
}

/// A quota of this rate; who is short of units under the one before is short of them here.
fn quota(rate: Rate, keys: usize, before: Option<&Arc<Quota>>, now: Duration) -> Arc<Quota> {
    match before {
        Some(before) if before.rate() == rate => before.clone(),
        Some(before) => Arc::new(before.under(rate, now)),
        None => Arc::new(Quota::new(rate, keys)),
    }
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

    fn rate(per_second: u32, whose: Whose) -> Arc<Rated> {
        let burst = None;
        let text = RateText { per_second, burst };
        Rated::of_one(&text, whose, None, Duration::ZERO)
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

    // req: GW-06, GW-16
    #[test]
    fn another_rate_gives_nobody_a_burst_again() {
        let now = Duration::from_secs(5);
        let text = |per_second, burst| QuotaText {
            per_tenant: Some(RateText { per_second, burst }),
            ..QuotaText::default()
        };
        let taken = |quotas: &Quotas| {
            let rated = quotas.per_tenant.as_ref().unwrap();
            let mut taken = 0;
            while take(&[window(rated)], now).is_ok() {
                taken += 1;
            }
            taken
        };
        let mut quotas = Quotas::new(&text(10, Some(20)), None, now);
        assert_eq!(taken(&quotas), 20);
        // As it was, faster, slower, with less at once.
        for (per_second, burst) in [(10, Some(20)), (100, Some(20)), (3, None), (10, Some(1))] {
            quotas = Quotas::new(&text(per_second, burst), Some(&quotas), now);
            assert_eq!(taken(&quotas), 0, "{per_second} {burst:?}");
        }
        quotas = Quotas::new(&text(10, Some(21)), Some(&quotas), now);
        assert_eq!(taken(&quotas), 20, "what one at once had to be forgiven");
    }

    // req: GW-06
    #[test]
    fn what_is_said_to_be_allowed_in_a_time_is_what_the_rate_allows() {
        let said = |per_second, burst| {
            let text = RateText { per_second, burst };
            let rated = Rated::of_one(&text, Whose::Tenant, None, Duration::ZERO);
            rated.policy.to_str().unwrap().to_owned()
        };
        assert_eq!(said(3, None), "\"tenant\";q=3;w=1");
        assert_eq!(said(50, Some(100)), "\"tenant\";q=100;w=2");
        assert_eq!(said(1, Some(3600)), "\"tenant\";q=3600;w=3600");
        assert_eq!(said(50, Some(1)), "\"tenant\";q=50;w=1");
        assert_eq!(said(2, Some(3)), "\"tenant\";q=3;w=2");
    }

    // req: GW-06
    #[test]
    fn a_rate_that_is_asked_for_one_key_takes_no_room_for_more() {
        let text = RateText {
            per_second: 5,
            burst: None,
        };
        let now = Duration::ZERO;
        let bytes = |rated: &Rated| size_of::<Rated>() + rated.quota.bytes();
        let faster = RateText {
            per_second: 6,
            ..text
        };
        for whose in [Whose::Tenant, Whose::Route] {
            let first = Rated::of_one(&text, whose, None, now);
            let second = Rated::of_one(&faster, whose, Some(&first), now);
            for rated in [&first, &second] {
                assert!(bytes(rated) < 512, "{whose:?}: {}", bytes(rated));
            }
        }
        let quotas = QuotaText {
            global: Some(text),
            per_ip: Some(text),
            per_tenant: Some(text),
            ..QuotaText::default()
        };
        let quotas = Quotas::new(&quotas, None, now);
        let bytes = |rated: &Option<Arc<Rated>>| bytes(rated.as_ref().unwrap());
        assert!(bytes(&quotas.everybody) < 512);
        for of_many in [&quotas.per_address, &quotas.per_tenant] {
            assert!(bytes(of_many) > 1 << 20, "each has its own bucket");
        }
        assert!(quotas.verifications.bytes() > 1 << 20);
    }

    #[test]
    fn without_any_rate_nothing_is_asked() {
        assert_eq!(take(&[None, None], Duration::ZERO), Ok(None));
    }
}
