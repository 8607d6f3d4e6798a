mod model;

use super::*;
use std::sync::atomic::{AtomicU32, Ordering};

fn rate(amount: u32, burst: u32) -> Rate {
    Rate::new(amount, Duration::from_secs(1))
        .and_then(|rate| rate.burst(burst))
        .expect("a good rate")
}

fn at(millis: u64) -> Duration {
    Duration::from_millis(1_000_000 + millis)
}

// req: GW-06
#[test]
fn a_burst_is_allowed_and_then_the_rate() {
    let quota = Quota::new(rate(10, 5), 100);
    for left in (0..5).rev() {
        assert_eq!(
            quota.check(1, 1, at(0)).map(|allowed| allowed.remaining()),
            Ok(left)
        );
    }
    let denied = quota.check(1, 1, at(0)).unwrap_err();
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(100)));
    assert!(quota.check(1, 1, at(99)).is_err());
    assert!(quota.check(1, 1, at(100)).is_ok());
    assert!(quota.check(1, 1, at(100)).is_err());
    assert_eq!(
        quota
            .check(1, 1, at(1_000))
            .map(|allowed| allowed.remaining()),
        Ok(4)
    );
}

// req: GW-06
#[test]
fn a_check_says_what_the_headers_need() {
    let quota = Quota::new(rate(10, 5), 100);
    let allowed = quota.check(1, 3, at(0)).expect("within the burst");
    assert_eq!(
        (allowed.remaining(), allowed.reset_after()),
        (2, Duration::from_millis(300))
    );
    let denied = quota.check(1, 4, at(0)).unwrap_err();
    let wait = Duration::from_millis(200);
    assert!(
        matches!(denied, Denied::For { retry_after, left } if retry_after == wait && left == allowed)
    );
    assert_eq!(
        quota.check(1, 2, at(0)).map(|allowed| allowed.remaining()),
        Ok(0),
        "a denial takes nothing"
    );
}

#[test]
fn a_cost_above_the_burst_is_denied_for_ever_and_a_cost_of_zero_only_looks() {
    let quota = Quota::new(rate(10, 5), 100);
    assert_eq!(quota.check(1, 6, at(0)), Err(Denied::Forever));
    assert_eq!(quota.check(1, u32::MAX, at(0)), Err(Denied::Forever));
    for _ in 0..9 {
        assert_eq!(
            quota.check(1, 0, at(0)).map(|allowed| allowed.remaining()),
            Ok(5)
        );
    }
    assert_eq!(quota.busy_keys(at(0)), 0);
}

#[test]
fn a_rate_of_a_single_key_takes_two_cache_lines_and_its_head() {
    let quota = Quota::new(rate(10, 5), 1);
    assert!(quota.bytes() < 256, "{}", quota.bytes());
    for key in 0..1_000 {
        let _ = quota.check(key, 1, at(0));
    }
    assert_eq!(quota.under(rate(20, 5), at(0)).bytes(), quota.bytes());
    let many = Quota::new(rate(10, 5), 1 << 16);
    assert!(many.bytes() > 128 << 14, "{}", many.bytes());
}

// req: GW-06
#[test]
fn a_table_for_no_keys_and_a_clock_that_steps_back_neither_panic_nor_refuse_for_ever() {
    let quota = Quota::new(rate(10, 1), 0);
    assert!(quota.check(1, 1, at(5_000)).is_ok());
    let denied = quota.check(1, 1, at(1_000)).unwrap_err();
    let retry_after = denied.retry_after().expect("the unit comes back");
    assert!(quota.check(1, 1, at(1_000) + retry_after).is_ok());
}

#[test]
fn keys_do_not_share() {
    // So much room that no set overflows, wherever the keys fall.
    let quota = Quota::new(rate(1, 1), 1_000_000);
    for key in 0..1_000 {
        assert!(quota.check(key, 1, at(0)).is_ok(), "{key}");
    }
    let again = (0..1_000).filter(|key| quota.check(*key, 1, at(0)).is_ok());
    assert_eq!(again.count(), 0);
}

// req: GW-06
#[test]
fn a_flood_of_a_million_keys_finds_a_table_that_neither_grows_nor_refuses_all() {
    let keys = if cfg!(miri) { 2_000 } else { 1_000_000 };
    let quota = Quota::new(rate(1, 1), 1_000);
    let allowed = (0..keys)
        .filter(|key| quota.check(*key, 1, at(0)).is_ok())
        .count();
    let (places, sets) = (quota.sets.len() * WAYS, quota.sets.len());
    assert!(
        allowed >= places.min(keys as usize / 2),
        "{allowed} of {places} places"
    );
    // Each set has one overflow bucket, with one unit in it.
    assert!(allowed <= places + sets);
    // A second later all have their unit again, so all may be evicted and nobody is refused for it.
    let fresh = (keys..keys + 1_000).filter(|key| quota.check(*key, 1, at(1_000)).is_ok());
    assert!(fresh.count() >= 990);
}

// req: GW-06
#[test]
fn an_entry_goes_only_when_it_says_nothing() {
    let quota = Quota::seeded(rate(1, 2), 1, 0x5eed);
    assert_eq!(quota.sets.len(), 1);
    for key in 0..WAYS as u64 {
        assert!(quota.check(key, 1, at(key)).is_ok());
    }
    // All places are taken: the next ones share, and nobody's word is lost.
    assert!(quota.check(100, 1, at(10)).is_ok());
    assert!(quota.check(101, 1, at(10)).is_ok());
    assert!(quota.check(102, 1, at(10)).is_err());
    for key in 0..WAYS as u64 {
        assert!(quota.check(key, 2, at(999)).is_err(), "{key} was forgotten");
    }
    // Key 0 is full again and makes room; the newcomer takes along what the strangers owe.
    assert_eq!(
        quota
            .check(100, 1, at(1_010))
            .map(|allowed| allowed.remaining()),
        Ok(0)
    );
    assert_eq!(
        quota
            .check(0, 1, at(1_011))
            .map(|allowed| allowed.remaining()),
        Ok(0)
    );
}

// req: GW-06
#[test]
fn several_windows_are_taken_from_together_or_not_at_all() {
    let (second, minute) = (Quota::new(rate(5, 5), 10), {
        let rate = Rate::new(8, Duration::from_secs(60)).expect("a good rate");
        Quota::new(rate, 10)
    });
    let windows = [(&second, 1), (&minute, 1)];
    assert_eq!(check_all(&windows, 5, at(0)), Ok(()));
    let denied = check_all(&windows, 5, at(1_000)).unwrap_err();
    let wait = denied.retry_after().expect("not for ever");
    assert!(
        wait > Duration::from_secs(10),
        "the minute is the tighter one: {wait:?}"
    );
    let left = second
        .check(1, 0, at(1_000))
        .map(|allowed| allowed.remaining());
    assert_eq!(left, Ok(5), "the second was not charged");
    assert!(check_all(&windows, 3, at(1_000)).is_ok());
}

#[test]
fn threads_together_get_the_burst_and_no_more() {
    let rounds = if cfg!(miri) { 20 } else { 20_000 };
    let quota = Quota::new(rate(1, 100), 10);
    let allowed = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..rounds {
                    if quota.check(1, 1, at(0)).is_ok() {
                        allowed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(allowed.into_inner(), 100.min(4 * rounds));
}

#[test]
fn threads_that_crowd_one_set_never_get_more_than_their_quota() {
    let rounds = if cfg!(miri) { 50 } else { 20_000 };
    let keys = 3 * WAYS as u64;
    let quota = Quota::seeded(rate(1_000, 1), 1, 0x5eed);
    let allowed: Vec<AtomicU32> = (0..keys).map(|_| AtomicU32::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (quota, allowed) = (&quota, &allowed);
            scope.spawn(move || {
                for round in 0..rounds {
                    let key = (round * 7 + thread) % keys;
                    // Each thread's clock runs by itself, within one interval of the others.
                    if quota.check(key, 1, at(round / 200)).is_ok() {
                        allowed[key as usize].fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let most = rounds / 200 + 1;
    // Clocks that are apart may cost a unit for each time one key's entry was evicted by the other's
    // clock; what must not happen is that units appear out of nowhere.
    let total: u64 = allowed
        .iter()
        .map(|count| u64::from(count.load(Ordering::Relaxed)))
        .sum();
    assert!(total <= 4 * keys * most, "{total} units for {keys} keys");
    assert!(total > 0);
}

// req: GW-06
// attack: H-06
#[test]
fn after_a_night_asleep_there_is_a_burst_and_no_more() {
    let quota = Quota::new(rate(10, 5), 100);
    while quota.check(1, 1, at(0)).is_ok() {}
    let morning = at(12 * 3_600_000);
    let allowed = (0..100).filter(|_| quota.check(1, 1, morning).is_ok());
    assert_eq!(allowed.count(), 5);
}

// req: GW-06, GW-16
#[test]
fn under_another_rate_everybody_lacks_as_many_units_as_before() {
    let quota = |per_second, burst| {
        let rate = Rate::new(per_second, Duration::from_secs(1)).unwrap();
        rate.burst(burst).unwrap()
    };
    let now = Duration::from_secs(3);
    let before = Quota::new(quota(10, 10), 1000);
    for key in 0..1000 {
        before.check(key, key as u32 % 11, now).unwrap();
    }
    let left = |quota: &Quota, key| quota.check(key, 0, now).unwrap().remaining();
    for (per_second, burst) in [(10, 10), (1000, 10), (1, 10), (10, 20), (10, 4)] {
        let after = before.under(quota(per_second, burst), now);
        for key in 0..1000 {
            let lacks = 10 - left(&before, key);
            let due = burst.saturating_sub(lacks);
            let has = left(&after, key);
            // What is rounded off is at most one unit.
            assert!(has.abs_diff(due) <= 1, "{key}: {has} of {burst}, {lacks}");
        }
    }
}
