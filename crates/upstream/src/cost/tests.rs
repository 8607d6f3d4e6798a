use super::*;
use proptest::prelude::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

// req: GW-11
#[test]
fn a_peak_counts_at_once_and_fades_slowly() {
    let calm = Latency::UNKNOWN.heard(ms(0), ms(10));
    let peak = calm.heard(ms(10), ms(800));
    assert_eq!(peak.seconds(ms(10)), 0.8);
    let after = peak.heard(ms(20), ms(10));
    assert!(after.seconds(ms(20)) > 0.79);
    let later = peak.heard(ms(10_010), ms(10));
    assert!((0.25..0.35).contains(&later.seconds(ms(10_010))));
}

// req: GW-11
#[test]
fn failing_fast_is_not_being_fast() {
    let quick = Latency::UNKNOWN.heard(ms(0), ms(5));
    let failing = quick.failed(ms(1), Duration::from_micros(50));
    assert!(failing.cost(ms(1), 0) >= 1.0);
}

#[test]
fn somebody_unknown_is_tried_by_one_and_then_waited_for() {
    let known = Latency::UNKNOWN.heard(ms(0), ms(5));
    assert!(Latency::UNKNOWN.cost(ms(0), 0) < known.cost(ms(0), 0));
    assert!(Latency::UNKNOWN.cost(ms(0), 1) > known.cost(ms(0), 1));
}

#[test]
fn a_stamp_ahead_of_the_reader_fades_nothing() {
    let ahead = Latency::UNKNOWN.heard(ms(1000), ms(5));
    assert_eq!(ahead.seconds(ms(990)), ahead.seconds(ms(1000)));
}

proptest! {
    #[test]
    fn a_word_keeps_it_all(took in 1u64..1_000_000, at in 0u64..u64::from(u32::MAX)) {
        let latency = Latency::UNKNOWN.heard(ms(at), Duration::from_micros(took));
        prop_assert_eq!(Latency::from_word(latency.to_word()), latency);
    }

    #[test]
    fn latency_stays_between_the_least_and_the_most_heard(took in proptest::collection::vec(1u64..5000, 1..40)) {
        let mut latency = Latency::UNKNOWN;
        for (index, took) in took.iter().enumerate() {
            latency = latency.heard(ms(index as u64 * 50), ms(*took));
        }
        let now = ms((took.len() as u64 - 1) * 50);
        let most = *took.iter().max().unwrap() as f32 / 1000.0;
        let least = *took.iter().min().unwrap() as f32 / 1000.0;
        prop_assert!((least * 0.99..=most * 1.01).contains(&latency.seconds(now)));
    }
}
