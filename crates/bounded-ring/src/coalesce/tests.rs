use std::task::Poll;

use proptest::prelude::*;

use super::{Coalesce, Pushed};
use crate::PushError;
use model_kit::hand::{Bell, block_on, poll};

// req: KN-03
#[test]
fn a_newer_item_takes_the_place_of_its_key() {
    let ring = Coalesce::new(3);
    assert_eq!(ring.push("a", 1), Ok(Pushed::Queued));
    assert_eq!(ring.push("b", 2), Ok(Pushed::Queued));
    assert_eq!(ring.push("a", 3), Ok(Pushed::Replaced(1)));
    assert_eq!(ring.len(), 2);
    assert_eq!(
        [ring.try_pop(), ring.try_pop(), ring.try_pop()],
        [Some(3), Some(2), None]
    );
}

// req: KN-04
#[test]
fn a_full_ring_still_replaces_but_refuses_a_new_key() {
    let ring = Coalesce::new(1);
    assert_eq!(ring.push('a', 1), Ok(Pushed::Queued));
    assert_eq!(ring.push('b', 2), Err(PushError::Full(2)));
    assert_eq!(ring.push('a', 3), Ok(Pushed::Replaced(1)));
    assert_eq!(ring.try_pop(), Some(3));
    assert_eq!(ring.push('b', 4), Ok(Pushed::Queued));
}

#[test]
fn with_one_key_only_the_newest_is_kept() {
    let ring = Coalesce::new(1);
    for number in 0..10 {
        assert!(ring.push((), number).is_ok());
    }
    assert_eq!([ring.try_pop(), ring.try_pop()], [Some(9), None]);
}

#[test]
fn a_closed_ring_refuses_even_a_replacement_and_drains() {
    let ring = Coalesce::new(2);
    assert_eq!(ring.push('a', 1), Ok(Pushed::Queued));
    ring.close();
    assert_eq!(ring.push('a', 2), Err(PushError::Closed(2)));
    assert_eq!(block_on(ring.pop()), Some(1));
    assert_eq!(block_on(ring.pop()), None);
}

#[test]
fn a_replacement_wakes_nobody_twice() {
    let ring = Coalesce::new(2);
    let ((bell_a, waker_a), (bell_b, waker_b)) = (Bell::new(), Bell::new());
    let (mut a, mut b) = (ring.pop(), ring.pop());
    assert!(poll(&mut a, &waker_a).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    assert_eq!(ring.push('k', 1), Ok(Pushed::Queued));
    assert_eq!(ring.push('k', 2), Ok(Pushed::Replaced(1)));
    assert_eq!((bell_a.rings(), bell_b.rings()), (1, 0));
    assert_eq!(poll(&mut a, &waker_a), Poll::Ready(Some(2)));
}

/// All keys of one value fall into one bucket: the chain is exercised at every length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Colliding(u8);

impl std::hash::Hash for Colliding {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u8(self.0 % 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

    #[test]
    fn it_behaves_as_a_list_searched_by_key(
        capacity in 1_usize..12,
        steps in prop::collection::vec(prop::option::weighted(0.6, 0_u8..16), 0..if cfg!(miri) { 40 } else { 300 }),
    ) {
        let ring = Coalesce::new(capacity);
        let mut model: Vec<(Colliding, usize)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let Some(key) = step.map(Colliding) else {
                let expected = (!model.is_empty()).then(|| model.remove(0).1);
                prop_assert_eq!(ring.try_pop(), expected);
                continue;
            };
            let pending = model.iter().position(|entry| entry.0 == key);
            let expected = match pending {
                Some(at) => Ok(Pushed::Replaced(std::mem::replace(&mut model[at].1, number))),
                None if model.len() == capacity => Err(PushError::Full(number)),
                None => {
                    model.push((key, number));
                    Ok(Pushed::Queued)
                }
            };
            prop_assert_eq!(ring.push(key, number), expected);
            prop_assert_eq!(ring.len(), model.len());
        }
    }
}
