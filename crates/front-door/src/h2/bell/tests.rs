//! Nobody who rings is passed over, however that falls together with the task going to rest.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::line::nobody::{self, Sleeper};

/// With room for so many streams, and whom it wakes.
fn bell(streams: u32) -> (Arc<Bell>, Arc<Sleeper>) {
    let (sleeper, waker) = Sleeper::new();
    let line = nobody::line();
    line.pulse.belongs_to(&waker);
    (Bell::new(line, streams), sleeper)
}

/// All that are answered from here on, each from behind the one before.
fn answered(bell: &Bell, from: usize) -> Vec<usize> {
    let next = |slot: &usize| bell.answer(slot + 1);
    std::iter::successors(bell.answer(from), next).collect()
}

#[test]
fn every_stream_there_can_be_is_answered_once_for_all_its_rings() {
    for streams in [1, 2, 63, 64, 65, 100, 128, 129, 1000] {
        let (bell, _) = bell(streams);
        assert!(!bell.is_rung());
        for slot in (0..streams as usize).rev() {
            bell.ring(slot);
            bell.ring(slot);
        }
        assert!(bell.is_rung());
        let all: Vec<usize> = (0..streams as usize).collect();
        assert_eq!(answered(&bell, 0), all);
        assert!(!bell.is_rung());
        assert_eq!(bell.answer(0), None);
    }
}

#[test]
fn whoever_rings_again_comes_behind_those_who_wait() {
    let (bell, _) = bell(200);
    for slot in [3, 70, 199] {
        bell.ring(slot);
    }
    let (mut next, mut order) = (0, Vec::new());
    for _ in 0..6 {
        let slot = bell.answer(next).unwrap();
        bell.ring(slot);
        order.push(slot);
        next = slot + 1;
    }
    assert_eq!(order, [3, 70, 199, 3, 70, 199]);
}

#[test]
fn a_ring_for_a_stream_that_cannot_be_is_nobodys() {
    for streams in [0, 1, 64] {
        let (bell, sleeper) = bell(streams);
        for slot in [64, 65, 1000, usize::MAX] {
            bell.ring(slot);
        }
        assert!(!bell.is_rung());
        assert_eq!((bell.answer(0), sleeper.woken()), (None, 0));
    }
}

#[test]
fn a_ring_wakes_the_task_only_while_it_does_not_attend() {
    let (bell, sleeper) = bell(100);
    bell.attend();
    bell.ring(80);
    assert_eq!(sleeper.woken(), 0, "it is at work");
    assert!(bell.leave(), "and is told when it wants to rest");
    bell.attend();
    assert_eq!(bell.answer(0), Some(80));
    assert!(!bell.leave(), "nothing has come meanwhile");
    bell.ring(80);
    assert_eq!(sleeper.woken(), 1, "it rests");
    bell.attend();
    assert!(bell.leave(), "what has not been answered");
}

#[test]
fn a_rope_rings_for_its_stream_however_it_is_pulled() {
    for slot in [0, 3, 77, 99] {
        let (bell, sleeper) = bell(100);
        let (rope, other) = (bell.rope(slot), bell.rope(50));
        rope.wake_by_ref();
        assert_eq!((answered(&bell, 0), sleeper.woken()), (vec![slot], 1));
        bell.attend();
        rope.wake();
        assert_eq!((answered(&bell, 0), sleeper.woken()), (vec![slot], 0));
        other.wake();
        assert_eq!(answered(&bell, 0), [50]);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Ring(usize),
    Answer(usize),
}

fn steps(streams: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0..streams).prop_map(Step::Ring),
        // From behind the last one, too.
        1 => (0..=streams).prop_map(Step::Answer),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn who_is_next_is_the_first_from_here_on_and_then_from_the_beginning(
        (streams, steps) in (1_usize..300).prop_flat_map(|streams| (Just(streams), steps(streams))),
    ) {
        let (bell, mut model) = (bell(streams as u32).0, BTreeSet::new());
        for step in steps {
            match step {
                Step::Ring(slot) => {
                    bell.ring(slot);
                    model.insert(slot);
                }
                Step::Answer(from) => {
                    let next = model.range(from..).chain(&model).next().copied();
                    prop_assert_eq!(bell.answer(from), next);
                    next.map(|slot| model.remove(&slot));
                }
            }
            prop_assert_eq!(bell.is_rung(), !model.is_empty());
        }
        prop_assert_eq!(answered(&bell, 0), Vec::from_iter(model));
    }
}

/// Numbers that look like chance, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    /// Lets some time pass.
    fn linger(&mut self) {
        match self.below(16) {
            0 => thread::yield_now(),
            _ => (0..self.below(200)).for_each(|_| std::hint::spin_loop()),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

const STREAMS: usize = 130;
const RINGS: usize = 8_000;

/// Says that it is over, however that comes.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What was told of each stream and not been heard.
struct Told {
    of: [AtomicUsize; STREAMS],
    over: AtomicBool,
}

/// Attends, answers and rests until it has heard all that was told; who rests for long was not woken.
fn hear(bell: &Bell, told: &Told, all: usize, dice: &mut Dice) {
    let _over = Over(&told.over);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut heard, mut next) = (0, 0);
    while heard < all {
        bell.line.pulse.belongs_to(&waker);
        bell.attend();
        while let Some(slot) = bell.answer(next) {
            next = slot + 1;
            heard += told.of[slot].swap(0, Ordering::Relaxed);
        }
        if dice.below(2) == 0 {
            dice.linger();
        }
        if !bell.leave() && heard < all {
            let began = kernel::clock::now();
            thread::park_timeout(Duration::from_secs(10));
            let rested = kernel::clock::now() - began;
            assert!(rested < Duration::from_secs(9), "{heard} of {all}");
        }
    }
}

/// Rings for any stream; rings again when it was heard, so that nobody else's ring makes up for a lost one.
fn tell(bell: &Bell, told: &Told, dice: &mut Dice, waits: bool) {
    for _ in 0..RINGS {
        let slot = dice.below(STREAMS as u64) as usize;
        // What is told before the ring is seen by who answers it.
        told.of[slot].fetch_add(1, Ordering::Relaxed);
        bell.ring(slot);
        while waits && told.of[slot].load(Ordering::Relaxed) > 0 {
            if told.over.load(Ordering::Relaxed) {
                return;
            }
            thread::yield_now();
        }
        dice.linger();
    }
}

#[test]
fn nobody_is_lost_between_the_last_look_and_the_rest() {
    for (seed, ringers) in [(1, 1), (2, 1), (3, 2), (4, 3)] {
        let bell = bell(STREAMS as u32).0;
        let told = Told {
            of: std::array::from_fn(|_| AtomicUsize::new(0)),
            over: AtomicBool::new(false),
        };
        thread::scope(|threads| {
            for ringer in 1..=ringers {
                let (bell, told) = (&bell, &told);
                let mut dice = Dice(seed * 1000 + ringer);
                threads.spawn(move || tell(bell, told, &mut dice, ringers < 3));
            }
            let all = RINGS * ringers as usize;
            hear(&bell, &told, all, &mut Dice(seed));
        });
    }
}
