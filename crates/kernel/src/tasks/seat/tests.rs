use std::collections::HashSet;
use std::sync::{Barrier, Mutex};
use std::thread;

use super::*;

// req: KN-05
#[test]
fn an_own_seat_is_given_to_one_until_it_is_given_back() {
    let free = Free::all();
    let seats: HashSet<Seat> = std::iter::from_fn(|| free.take()).collect();
    assert_eq!(seats.len(), OWN);
    assert!(seats.iter().all(|seat| seat.is_own()));
    free.give(Seat(7));
    assert_eq!((free.take(), free.take()), (Some(Seat(7)), None));
}

// req: KN-05
#[test]
fn no_two_threads_have_the_same_own_seat_at_a_time() {
    const THREADS: usize = SEATS + 8;
    for _ in 0..20 {
        let (all_seated, seen) = (Barrier::new(THREADS), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let seat = Seat::of_this_thread();
                    seen.lock().unwrap().push(seat);
                    assert_eq!(seat, Seat::of_this_thread());
                    all_seated.wait();
                });
            }
        });
        let seen = seen.into_inner().unwrap();
        let own: Vec<Seat> = seen.into_iter().filter(|seat| seat.is_own()).collect();
        let distinct: HashSet<Seat> = own.iter().copied().collect();
        assert_eq!(distinct.len(), own.len());
    }
}

// req: KN-05
#[test]
fn a_thread_that_ends_gives_its_seat_back() {
    // Far more threads than seats, one after the other: were seats kept, the last ones would have none of their own.
    // Tests beside this one hold some at times, never all of them for so long.
    let own = (0..SEATS * 20)
        .filter(|_| {
            thread::scope(|scope| {
                scope
                    .spawn(|| Seat::of_this_thread().is_own())
                    .join()
                    .unwrap()
            })
        })
        .count();
    assert!(own > OWN, "{own} threads had a seat of their own");
}
