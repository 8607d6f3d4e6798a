use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_rate_that_cannot_be_is_refused() {
    assert_eq!(Rate::new(0, SECOND), Err(RateError::Zero));
    assert_eq!(Rate::new(1, Duration::ZERO), Err(RateError::TooFast));
    assert_eq!(
        Rate::new(u32::MAX, Duration::from_nanos(1)),
        Err(RateError::TooFast)
    );
    assert_eq!(Rate::new(1, Duration::MAX), Err(RateError::TooSlow));
    let daily = Rate::new(1, 24 * 3600 * SECOND).expect("a good rate");
    assert_eq!(daily.burst(0), Err(RateError::Zero));
    assert_eq!(daily.burst(32), Err(RateError::TooSlow));
    assert_eq!(daily.burst(31).map(|rate| rate.max_burst()), Ok(31));
}

#[test]
fn rounding_never_allows_more_than_was_said() {
    for amount in [1, 3, 7, 999, 1_000_003, 300_000_000] {
        let rate = Rate::new(amount, SECOND).expect("a good rate");
        let second = ticks(SECOND);
        assert!(second / rate.interval <= amount.into());
        let lost = 1.0 - (second as f64 / rate.interval as f64) / f64::from(amount);
        assert!(lost < 0.011, "{amount}: {lost} is lost by rounding");
    }
}

#[test]
fn the_end_of_the_clock_is_no_panic() {
    let rate = Rate::new(1, SECOND).expect("a good rate");
    let end = ticks(Duration::MAX);
    let (verdict, word) = rate.decide(0, 1, end);
    assert!(verdict.is_ok() && word > end);
    assert!(rate.decide(word, 1, end).0.is_err());
}
