//! Checks against a plain token bucket per key, in exact arithmetic.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use testkit::sim;

use crate::quota::Quota;
use crate::rate::Rate;

/// Tokens in units of one nanosecond of the rate's time: nothing is rounded.
struct Bucket {
    tokens: u128,
    last: u128,
}

struct Model {
    amount: u128,
    per: u128,
    burst: u128,
    buckets: HashMap<u64, Bucket>,
}

impl Model {
    fn check(&mut self, key: u64, cost: u32, now: Duration) -> bool {
        let (full, now) = (self.burst * self.per, now.as_nanos());
        let bucket = self.buckets.entry(key).or_insert(Bucket {
            tokens: full,
            last: now,
        });
        let earned = (now - bucket.last) * self.amount;
        (bucket.tokens, bucket.last) = ((bucket.tokens + earned).min(full), now);
        let price = u128::from(cost) * self.per;
        let pays = bucket.tokens >= price;
        if pays {
            bucket.tokens -= price;
        }
        pays
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // req: GW-06
    #[test]
    fn a_quota_decides_as_a_token_bucket_does(
        amount in prop_oneof![Just(1_u32), Just(8), Just(1_000), Just(25_000)],
        burst in 1..50_u32,
        steps in proptest::collection::vec((0..6_u64, 1..9_u32, 0..40_000_000_u64), 1..300),
    ) {
        let per = Duration::from_secs(1);
        let rate = Rate::new(amount, per).and_then(|rate| rate.burst(burst)).expect("a good rate");
        let quota = Quota::new(rate, 1_000);
        let mut model = Model {
            amount: amount.into(),
            per: per.as_nanos(),
            burst: burst.into(),
            buckets: HashMap::new(),
        };
        let mut now = Duration::from_secs(1);
        for (key, cost, wait) in steps {
            now += Duration::from_nanos(wait);
            let expected = model.check(key, cost, now);
            let verdict = quota.check(key, cost, now);
            prop_assert_eq!(verdict.is_ok(), expected, "{} units of {} at {:?}", cost, key, now);
            if let Err(denied) = verdict
                && let Some(wait) = denied.retry_after()
            {
                let early = wait.saturating_sub(Duration::from_nanos(1));
                prop_assert!(quota.check(key, 0, now + wait).is_ok_and(|left| left.remaining() >= cost));
                prop_assert!(quota.check(key, 0, now + early).is_ok_and(|left| left.remaining() < cost));
            }
        }
    }
}

/// In a crowd too large for the table no key gets more than its own bucket would give it.
// req: GW-06
#[test]
fn a_crowded_table_only_ever_errs_on_the_strict_side() {
    sim::run("rate-quota crowd", if cfg!(miri) { 1 } else { 20 }, |rng| {
        let burst = rng.u32(1..6);
        let rate = Rate::new(10, Duration::from_secs(1)).and_then(|rate| rate.burst(burst));
        let quota = Quota::new(rate.expect("a good rate"), 8);
        let mut model = Model {
            amount: 10,
            per: 1_000_000_000,
            burst: burst.into(),
            buckets: HashMap::new(),
        };
        let mut now = Duration::from_secs(1);
        let (mut given, mut due) = (0, 0);
        for _ in 0..if cfg!(miri) { 300 } else { 20_000 } {
            now += Duration::from_millis(rng.u64(0..10));
            let (key, cost) = (rng.u64(0..100), rng.u32(1..=burst));
            // The model is asked only about what was given: it must have had it.
            due += 1;
            if quota.check(key, cost, now).is_ok() {
                given += 1;
                assert!(
                    model.check(key, cost, now),
                    "key {key} got more than its quota"
                );
            }
        }
        assert!(
            given * 20 > due,
            "{given} of {due}: a full table must not refuse nearly all"
        );
    });
}
