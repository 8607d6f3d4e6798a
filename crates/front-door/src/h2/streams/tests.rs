//! Windows never promise more than there is, and every stream has a slot of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::h2::bell::Bell;
use crate::line::nobody;

#[test]
fn a_window_has_room_for_what_it_was_given() {
    for bytes in [0, 1, 65_535, WINDOW_MAX, u32::MAX] {
        assert_eq!(Window::new(bytes).room(), bytes as usize);
    }
}

#[test]
fn a_window_grows_up_to_the_largest_there_is() {
    let mut window = Window::new(0);
    assert_eq!(window.grow(WINDOW_MAX.into()), Ok(()));
    assert_eq!(window.room(), WINDOW_MAX as usize);
    assert_eq!(window.grow(1), Err(Overflow));
    let mut window = Window::new(WINDOW_MAX);
    assert_eq!(window.grow(0), Ok(()));
    assert!(window.take(1));
    assert_eq!((window.grow(1), window.grow(1)), (Ok(()), Err(Overflow)));
    assert_eq!(Window::new(1).grow(WINDOW_MAX.into()), Err(Overflow));
}

#[test]
fn a_window_below_zero_has_no_room_until_it_has_grown_out_of_that() {
    let mut window = Window::new(100);
    assert!(window.take(100));
    // What a change of settings can do.
    assert_eq!(window.grow(-60), Ok(()));
    assert_eq!(window.room(), 0);
    assert!(!window.take(0));
    assert_eq!((window.grow(60), window.room()), (Ok(()), 0));
    assert!(window.take(0));
    assert_eq!((window.grow(7), window.room()), (Ok(()), 7));
    assert!(window.take(7) && !window.take(1));
}

#[derive(Clone, Debug)]
enum Change {
    Grow(i64),
    Take(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let most = i64::from(WINDOW_MAX);
    prop_oneof![
        (-most..=most).prop_map(Change::Grow),
        (-100_000_i64..=100_000).prop_map(Change::Grow),
        (0_usize..=100_000).prop_map(Change::Take),
        (0_usize..=1 << 24).prop_map(Change::Take),
    ]
}

fn stream(id: u32) -> Stream<()> {
    Stream {
        id,
        work: None,
        inflow: None,
        room: Window::new(0),
        left: None,
        seen: false,
        heard: false,
        bodiless: false,
        told: false,
        window: Window::new(0),
        promised: None,
        rest: Bytes::new(),
        behind: Bytes::new(),
        tail: Tail::Open,
        sent: 0,
        stalled: 0,
        here_since: 0,
        sent_before: 0,
        excuse: None,
    }
}

/// Streams, who is where, and how many ropes were made.
struct Hall {
    streams: Streams<()>,
    model: BTreeMap<usize, u32>,
    /// The next stream's number; they only grow.
    next: u32,
    bell: Arc<Bell>,
    slots: usize,
}

impl Hall {
    fn new() -> Self {
        Self {
            streams: Streams::new(),
            model: BTreeMap::new(),
            next: 1,
            bell: Bell::new(nobody::line(), 256),
            slots: 0,
        }
    }

    fn insert(&mut self) {
        let slot = self.streams.vacant();
        let free = (0..).find(|slot| !self.model.contains_key(slot));
        assert_eq!(Some(slot), free, "the first that is free");
        let mut ropes = 0;
        let (bell, rope) = (&self.bell, &mut ropes);
        self.streams.insert(slot, stream(self.next), || {
            *rope += 1;
            bell.rope(slot)
        });
        assert_eq!(ropes, usize::from(slot == self.slots), "once for each slot");
        self.slots += ropes;
        self.model.insert(slot, self.next);
        self.next += 2;
    }

    fn remove(&mut self, slot: usize) {
        let id = self.streams.remove(slot).map(|stream| stream.id);
        assert_eq!(id, self.model.remove(&slot));
    }

    fn check(&mut self) {
        let Self { streams, model, .. } = self;
        assert_eq!(streams.open(), model.len());
        let all: Vec<_> = streams
            .iter_mut()
            .map(|(slot, stream)| (slot, stream.id))
            .collect();
        let expected: Vec<_> = model.iter().map(|(slot, id)| (*slot, *id)).collect();
        assert_eq!(all, expected);
        for id in (1..self.next + 2).step_by(2) {
            let slot = model.iter().find(|(_, other)| **other == id);
            assert_eq!(streams.find(id), slot.map(|(slot, _)| *slot));
        }
        for slot in 0..self.slots + 2 {
            let id = streams.get(slot).map(|stream| stream.id);
            assert_eq!(id, model.get(&slot).copied());
            let roped = streams.get_with_rope(slot).map(|(stream, rope)| {
                rope.wake_by_ref();
                stream.id
            });
            assert_eq!(roped, id);
            assert_eq!(self.bell.answer(0), id.map(|_| slot), "its own rope");
        }
    }
}

#[test]
fn who_ends_all_streams_may_give_up_their_memory_and_begin_anew() {
    let mut hall = Hall::new();
    for _ in 0..2 {
        for _ in 0..5 {
            hall.insert();
        }
        (0..5).for_each(|slot| hall.remove(slot));
        hall.check();
        hall.streams.shrink();
        let Streams {
            ids,
            streams,
            ropes,
            ..
        } = &hall.streams;
        assert_eq!(
            (ids.capacity(), streams.capacity(), ropes.capacity()),
            (0, 0, 0)
        );
        hall.slots = 0;
    }
}

#[test]
fn nobody_is_found_under_the_number_of_the_connection() {
    let mut hall = Hall::new();
    assert_eq!(hall.streams.find(0), None);
    (0..3).for_each(|_| hall.insert());
    assert_eq!(hall.streams.find(0), None);
    hall.remove(1);
    let slot = hall.streams.find(0);
    assert!(slot.is_none_or(|slot| hall.streams.get(slot).is_none()));
}

proptest! {
    #[test]
    fn a_window_is_what_it_was_given_less_what_was_taken(
        first in 0..=WINDOW_MAX,
        changes in prop::collection::vec(change(), 0..40),
    ) {
        let (mut window, mut model) = (Window::new(first), i64::from(first));
        for change in changes {
            match change {
                Change::Grow(by) => {
                    model += by;
                    let fits = model <= WINDOW_MAX.into();
                    prop_assert_eq!(window.grow(by).is_ok(), fits);
                    if !fits {
                        // Whoever let that happen has ended.
                        break;
                    }
                }
                Change::Take(bytes) => {
                    model -= bytes as i64;
                    prop_assert_eq!(window.take(bytes), model >= 0);
                }
            }
            prop_assert_eq!(window.room() as i64, model.max(0));
        }
    }

    #[test]
    fn every_stream_is_found_where_it_was_put_until_it_is_removed(
        steps in prop::collection::vec(prop::option::weighted(0.5, 0_usize..12), 0..60),
    ) {
        let mut hall = Hall::new();
        for step in steps {
            match step {
                Some(slot) => hall.remove(slot),
                None => hall.insert(),
            }
            hall.check();
        }
    }
}
