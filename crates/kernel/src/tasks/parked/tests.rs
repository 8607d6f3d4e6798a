use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;
use std::thread;

use super::*;

/// Counts how often it was rung.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

// req: KN-05
#[test]
fn everybody_who_is_parked_is_woken_and_nobody_who_has_left() {
    let (parked, staying, leaving) = (
        Parked::default(),
        Arc::<Bell>::default(),
        Arc::<Bell>::default(),
    );
    let mut places = Vec::new();
    for _ in 0..3 * BATCH + 1 {
        places.push(parked.insert(leaving.clone().into()));
        parked.insert(staying.clone().into());
    }
    places.into_iter().for_each(|place| parked.remove(place));
    parked.wake_all();
    assert_eq!(staying.0.load(Ordering::SeqCst), 3 * BATCH + 1);
    assert_eq!(leaving.0.load(Ordering::SeqCst), 0);
}

// req: KN-05
#[test]
fn a_slot_that_was_left_is_the_next_to_be_taken() {
    let mut shard = Shard::default();
    let waker = || Waker::noop().clone();
    let first: Vec<usize> = (0..3).map(|_| shard.insert(waker())).collect();
    shard.remove(first[0]);
    shard.remove(first[2]);
    let again: Vec<usize> = (0..3).map(|_| shard.insert(waker())).collect();
    assert_eq!((first, again), (vec![0, 1, 2], vec![2, 0, 3]));
}

// req: KN-05
#[test]
fn a_waker_may_be_taken_out_by_another_thread_than_the_one_that_left_it() {
    let (parked, bell) = (Parked::default(), Arc::<Bell>::default());
    for _ in 0..100 {
        let places: Vec<Place> = (0..100)
            .map(|_| parked.insert(bell.clone().into()))
            .collect();
        thread::scope(|scope| {
            for half in places.chunks(50) {
                scope.spawn(|| half.iter().for_each(|place| parked.remove(*place)));
            }
            parked.insert(bell.clone().into());
        });
    }
    parked.wake_all();
    assert_eq!(bell.0.load(Ordering::SeqCst), 100);
    parked.clear();
    assert_eq!(Arc::strong_count(&bell), 1);
}
