use super::*;

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
