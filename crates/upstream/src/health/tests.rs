use super::*;
use proptest::prelude::*;

fn health() -> Health {
    Health {
        path: "/healthz".into(),
        every: Duration::from_millis(20),
        timeout: Duration::from_millis(20),
        healthy_after: 2,
        unhealthy_after: 3,
    }
}

// req: GW-11
#[test]
fn the_first_answer_decides_and_later_ones_only_in_a_row() {
    let (mut streak, health) = (Streak::default(), health());
    assert_eq!(streak.hear(true, &health), Some(true));
    for good in [false, false, true, false, false] {
        assert_eq!(streak.hear(good, &health), None);
    }
    assert_eq!(streak.hear(false, &health), Some(false));
    assert_eq!(streak.hear(true, &health), None);
    assert_eq!(streak.hear(true, &health), Some(true));
}

proptest! {
    // req: GW-11
    #[test]
    fn a_change_is_never_said_twice_and_needs_its_row(answers in proptest::collection::vec(any::<bool>(), 1..60)) {
        let (mut streak, health) = (Streak::default(), health());
        let mut last = None;
        for (index, good) in answers.iter().enumerate() {
            if let Some(up) = streak.hear(*good, &health) {
                prop_assert_ne!(Some(up), last);
                if last.is_some() {
                    let needed = if up { 2 } else { 3 };
                    prop_assert!(answers[index + 1 - needed..=index].iter().all(|one| *one == up));
                }
                last = Some(up);
            }
        }
        prop_assert_eq!(last.is_some(), true);
    }
}
