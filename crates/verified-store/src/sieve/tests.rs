use super::Sieve;
use proptest::prelude::*;

fn of(values: &[u32]) -> (Sieve<u32>, Vec<u32>) {
    let mut sieve = Sieve::new();
    let ids = values.iter().map(|value| sieve.insert(*value)).collect();
    (sieve, ids)
}

fn evict(sieve: &mut Sieve<u32>) -> Option<u32> {
    let id = sieve.victim(|_| true)?;
    Some(sieve.remove(id))
}

#[test]
fn what_came_first_goes_first_if_nobody_wanted_it() {
    let (mut sieve, _) = of(&[1, 2, 3]);
    assert_eq!([evict(&mut sieve), evict(&mut sieve)], [Some(1), Some(2)]);
    assert_eq!(sieve.iter().collect::<Vec<_>>(), [&3]);
}

#[test]
fn what_was_visited_is_spared_once() {
    let (mut sieve, ids) = of(&[1, 2, 3]);
    assert!(sieve.visit(ids[0]));
    assert!(!sieve.visit(ids[0]), "only the first visit is news");
    assert_eq!(evict(&mut sieve), Some(2));
    assert_eq!(evict(&mut sieve), Some(3));
    assert_eq!(evict(&mut sieve), Some(1));
    assert_eq!(evict(&mut sieve), None);
}

#[test]
fn the_hand_stays_where_it_is_when_something_new_comes() {
    let (mut sieve, ids) = of(&[1, 2, 3]);
    sieve.visit(ids[0]);
    assert_eq!(evict(&mut sieve), Some(2));
    sieve.insert(4);
    assert_eq!(
        evict(&mut sieve),
        Some(3),
        "not back to 1, which was just spared"
    );
}

#[test]
fn a_scan_of_new_things_leaves_what_is_wanted() {
    let (mut sieve, ids) = of(&[1, 2, 3, 4]);
    for scanned in 100..200 {
        ids.iter().for_each(|id| {
            sieve.visit(*id);
        });
        sieve.insert(scanned);
        assert_eq!(evict(&mut sieve), Some(scanned));
    }
}

#[test]
fn what_may_not_go_stays() {
    let (mut sieve, _) = of(&[1, 2, 3]);
    let id = sieve.victim(|value| *value == 3).expect("one may go");
    assert_eq!(*sieve.get(id), 3);
    assert_eq!(sieve.victim(|_| false), None);
    assert_eq!(sieve.len(), 3);
}

/// The same by the book: a vector, oldest first, and a hand that points into it.
#[derive(Default)]
struct Book {
    queue: Vec<(u32, bool)>,
    hand: usize,
}

impl Book {
    fn evict(&mut self) -> Option<u32> {
        if self.queue.is_empty() {
            return None;
        }
        loop {
            let at = self.hand;
            let spared = std::mem::take(&mut self.queue[at].1);
            let gone = (!spared).then(|| self.queue.remove(at).0);
            self.hand += usize::from(spared);
            // Past the newest one it starts over, whatever comes in the meantime.
            if self.hand == self.queue.len() {
                self.hand = 0;
            }
            if gone.is_some() {
                return gone;
            }
        }
    }

    fn remove(&mut self, at: usize) {
        self.queue.remove(at);
        if at < self.hand {
            self.hand -= 1;
        }
        if self.hand == self.queue.len() {
            self.hand = 0;
        }
    }
}

proptest! {
    #[test]
    fn it_does_what_the_book_says(steps in proptest::collection::vec((0..5_u8, any::<prop::sample::Index>()), 0..200)) {
        let (mut sieve, mut book) = (Sieve::new(), Book::default());
        let mut ids = std::collections::HashMap::new();
        for (number, (step, which)) in (0..).zip(steps) {
            let at = (!book.queue.is_empty()).then(|| which.index(book.queue.len()));
            match (step, at) {
                (0 | 1, _) => {
                    ids.insert(number, sieve.insert(number));
                    book.queue.push((number, false));
                }
                (2, Some(at)) => {
                    sieve.visit(ids[&book.queue[at].0]);
                    book.queue[at].1 = true;
                }
                (3, Some(at)) => {
                    sieve.remove(ids[&book.queue[at].0]);
                    book.remove(at);
                }
                _ => prop_assert_eq!(evict(&mut sieve), book.evict()),
            }
            let expected: Vec<u32> = book.queue.iter().map(|(number, _)| *number).collect();
            prop_assert_eq!(sieve.iter().copied().collect::<Vec<_>>(), expected);
            prop_assert_eq!(sieve.len(), book.queue.len());
        }
    }
}
