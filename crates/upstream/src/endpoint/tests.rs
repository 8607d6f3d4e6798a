use super::*;
use proptest::prelude::*;

proptest! {
    // req: GW-11
    #[test]
    fn slow_start_grows_from_a_tenth_to_the_whole(
        slow in 1u64..60_000,
        passed in 0u64..120_000,
        later in 0u64..60_000,
    ) {
        let (slow, at) = (Duration::from_millis(slow), Duration::from_millis);
        let (share, next) = (ramp_share(at(passed), slow), ramp_share(at(passed + later), slow));
        prop_assert!((RAMP_FROM..=1.0).contains(&share));
        prop_assert!(next >= share);
        prop_assert_eq!(ramp_share(slow, slow), 1.0);
    }
}

#[test]
fn without_slow_start_a_newcomer_takes_its_whole_share() {
    assert_eq!(ramp_share(Duration::ZERO, Duration::ZERO), 1.0);
}
