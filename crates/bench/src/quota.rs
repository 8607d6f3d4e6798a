//! Rate quotas per key against `governor`'s keyed limiter.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::FakeRelativeClock;
use governor::{Quota as Rule, RateLimiter};
use rate_quota::{Quota, Rate};

use crate::clock::Clock;
use crate::fair_queue::coarse;
use crate::frame::{Benchmark, Cost, Effort, Metric, Peer};

/// See the module.
pub const BENCHMARK: Benchmark = Benchmark {
    name: "quota",
    about: "a check of a rate quota per key against governor's keyed limiter",
    metrics,
};

const GOAL: f64 = 0.8;
const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;
const PER_SECOND: u32 = 1_000_000;

fn metrics(effort: Effort) -> Vec<Metric> {
    let operations = effort.scaled(2_000_000);
    let against = |name, ours, theirs| Metric {
        name,
        unit: "ns/check",
        ours,
        peer: Peer::Rival {
            name: "governor keyed",
            theirs,
        },
        goal_ratio: GOAL,
    };
    vec![
        against(
            "check_1k_keys",
            ours(FEW, operations, stopped()),
            theirs_stopped(FEW, operations),
        ),
        against(
            "check_1m_keys",
            ours(MANY, operations, stopped()),
            theirs_stopped(MANY, operations),
        ),
        against(
            "check_with_clock",
            ours(FEW, operations, running()),
            theirs_running(FEW, operations),
        ),
        against("denied", ours_denied(operations), theirs_denied(operations)),
    ]
}

type Now = Box<dyn Fn() -> Duration>;

/// The time a coarse clock would show between two of its ticks.
fn stopped() -> Now {
    Box::new(|| Duration::from_secs(1))
}

/// As each is used: ours with a coarse clock, governor with the one it brings.
fn running() -> Now {
    Box::new(coarse)
}

fn rule(per_second: u32) -> Rule {
    let per_second = NonZeroU32::new(per_second).expect("not zero");
    Rule::per_second(per_second)
}

fn quota(per_second: u32, keys: u64) -> Quota {
    let rate = Rate::new(per_second, Duration::from_secs(1)).expect("a good rate");
    Quota::new(rate, keys as usize)
}

/// A multiplicative walk: cheap, and no two neighbours alike.
fn keys_at_random(keys: u64) -> impl FnMut() -> u64 {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 32) % keys
    }
}

fn each(operations: usize, keys: u64, mut check: impl FnMut(u64) + 'static) -> Cost {
    let mut next = keys_at_random(keys);
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for _ in 0..operations {
                check(black_box(next()));
            }
        })
    })
}

fn ours(keys: u64, operations: usize, now: Now) -> Cost {
    let quota = quota(PER_SECOND, keys);
    each(operations, keys, move |key| {
        let _ = black_box(quota.check(key, 1, now()));
    })
}

fn theirs_stopped(keys: u64, operations: usize) -> Cost {
    let clock = FakeRelativeClock::default();
    let limiter = RateLimiter::dashmap_with_clock(rule(PER_SECOND), clock);
    each(operations, keys, move |key| {
        let _ = black_box(limiter.check_key(&key));
    })
}

fn theirs_running(keys: u64, operations: usize) -> Cost {
    let limiter = RateLimiter::dashmap(rule(PER_SECOND));
    each(operations, keys, move |key| {
        let _ = black_box(limiter.check_key(&key));
    })
}

fn ours_denied(operations: usize) -> Cost {
    let quota = quota(1, FEW);
    each(operations, FEW, move |key| {
        let _ = black_box(quota.check(key, 1, Duration::from_secs(1)));
    })
}

fn theirs_denied(operations: usize) -> Cost {
    let limiter = RateLimiter::dashmap_with_clock(rule(1), FakeRelativeClock::default());
    each(operations, FEW, move |key| {
        let _ = black_box(limiter.check_key(&key));
    })
}
