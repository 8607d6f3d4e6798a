//! A check allocates nothing, whether its key is known, new, or one too many.
#![cfg(not(loom))]

use std::time::Duration;

use model_kit::allocations::{Counting, during};
use rate_quota::{Quota, Rate};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_check_allocates_nothing() {
    let rate = Rate::new(100, Duration::from_secs(1)).expect("a good rate");
    let quota = Quota::new(rate, 100);
    let counted = during(|| {
        for number in 0..100_000_u64 {
            let now = Duration::from_micros(number);
            let _ = quota.check(number % 1_000, 1, now);
        }
    });
    assert_eq!(counted, 0);
}
