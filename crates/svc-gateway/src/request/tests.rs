use super::*;

// req: GW-09, GW-02
#[test]
fn nobody_begins_with_less_time_left_than_it_takes_yet_half_of_it_may_be_waited() {
    let ms = Duration::from_millis;
    assert_eq!(latest_start(ms(100), ms(2_100), ms(50)), ms(2_050));
    assert_eq!(latest_start(ms(100), ms(2_100), ms(0)), ms(2_100));
    assert_eq!(latest_start(ms(100), ms(2_100), ms(60_000)), ms(1_100));
    assert_eq!(latest_start(ms(300), ms(200), ms(50)), ms(200));
}

/// The size of the future that `make` would make; it is never called.
fn size<F: Future>(_make: impl FnOnce() -> F) -> usize {
    size_of::<F>()
}

// req: GW-02
#[test]
#[expect(unreachable_code, reason = "only the type is asked for")]
fn what_a_request_holds_on_its_way_stays_small() {
    let whole = size(|| answer(unreachable!(), unreachable!(), unreachable!()));
    assert!(whole <= 3 * 1024, "{whole} bytes");
}
