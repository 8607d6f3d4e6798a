use std::collections::VecDeque;

use proptest::prelude::*;

use super::{Left, Line, Ticket};
use model_kit::hand::Bell;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

    #[test]
    fn sleepers_are_called_in_order_of_arrival_however_others_leave(
        steps in prop::collection::vec((0_u8..3, any::<prop::sample::Index>()), 0..if cfg!(miri) { 40 } else { 200 }),
    ) {
        let mut line = Line::new();
        let (mut waiting, mut called) = (VecDeque::<(usize, Ticket)>::new(), Vec::<(usize, Ticket)>::new());
        for (number, (step, which)) in steps.into_iter().enumerate() {
            match step {
                0 => waiting.push_back((number, line.join(Bell::new().1))),
                1 => {
                    let first = waiting.pop_front();
                    prop_assert_eq!(line.call_first(first.as_ref().map(|f| f.0)).is_some(), first.is_some());
                    called.extend(first);
                }
                _ if !waiting.is_empty() => {
                    let (_, ticket) = waiting.remove(which.index(waiting.len())).unwrap();
                    prop_assert!(matches!(line.leave(ticket), Left::Uncalled(_)));
                }
                _ => {}
            }
            prop_assert_eq!(line.len(), waiting.len());
        }
        for (number, ticket) in called {
            prop_assert!(matches!(line.leave(ticket), Left::Called(Some(word)) if word == number));
        }
    }
}

#[test]
fn places_are_reused() {
    let mut line = Line::<()>::new();
    for _ in 0..100 {
        let (first, second) = (line.join(Bell::new().1), line.join(Bell::new().1));
        line.leave(first);
        line.leave(second);
    }
    assert_eq!(line.entries.len(), 2);
}

#[test]
fn a_dismissed_sleeper_leaves_its_place_to_others() {
    let mut line = Line::<()>::new();
    let first = line.join(Bell::new().1);
    let second = line.join(Bell::new().1);
    assert_eq!(
        line.dismiss_first().map(|(number, _)| number),
        Some(first.number)
    );
    let third = line.join(Bell::new().1);
    assert_eq!(line.entries.len(), 2);
    assert!(first.number < second.number && second.number < third.number);
    assert_eq!(
        line.dismiss_first().map(|(number, _)| number),
        Some(second.number)
    );
    assert_eq!(
        line.dismiss_first().map(|(number, _)| number),
        Some(third.number)
    );
    assert!(line.dismiss_first().is_none());
}
