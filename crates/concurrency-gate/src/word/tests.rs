use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_parts_of_a_word_do_not_touch_each_other(
        limits in proptest::collection::vec(1..=COUNT_MAX, 1..20),
        flags in 0_u64..16,
    ) {
        let mut word = Word::with_limit_of(1).set(flags << FLAGS_SHIFT, true);
        let mut inside = 0;
        for limit in limits {
            word = word.set_limit(limit);
            if word.has_free() {
                word = word.admit();
                inside += 1;
            }
            prop_assert_eq!(word.limit(), limit);
            prop_assert_eq!(word.in_flight(), inside);
            prop_assert_eq!(word.admitted(), u64::from(inside));
            prop_assert_eq!(word.has(QUEUED), flags & 1 != 0);
            prop_assert_eq!(word.has(CLOSED), flags & 8 != 0);
        }
        while word.in_flight() > 0 {
            word = Word(word.0 - 1);
        }
        prop_assert_eq!(word.admitted(), u64::from(inside));
    }
}

#[test]
fn admissions_are_counted_beyond_what_the_word_holds() {
    let mut word = Word::with_limit_of(COUNT_MAX);
    let mut halves = 0;
    for count in 1..=5 * HALF {
        word = Word(word.admit().0 - 1);
        let behind = word.total(halves);
        halves += u32::from(word.begins_half());
        assert_eq!(word.total(halves), count);
        assert_eq!(behind, count, "also before the half is noted");
    }
    assert_eq!((word.in_flight(), word.limit()), (0, COUNT_MAX));
}
