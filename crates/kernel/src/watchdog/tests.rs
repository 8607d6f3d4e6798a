use std::sync::atomic::AtomicBool;

use super::*;
use crate::Kernel;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

// attack: K-06
#[test]
fn one_that_does_not_yield_for_a_second_stalls_until_it_yields() {
    let mut glance = Glance::default();
    assert_eq!(glance.look(1, ms(100)), Seen::Nothing, "it has begun");
    assert_eq!(glance.look(1, ms(1_099)), Seen::Nothing);
    assert_eq!(glance.look(1, ms(1_100)), Seen::Began);
    assert_eq!(glance.look(1, ms(5_000)), Seen::Nothing, "told once");
    assert_eq!(glance.look(2, ms(5_100)), Seen::Over(ms(5_000)));
    assert_eq!(glance.look(2, ms(60_000)), Seen::Nothing, "it rests");
    assert_eq!(glance.look(3, ms(60_100)), Seen::Nothing);
    assert_eq!(glance.look(5, ms(61_200)), Seen::Nothing, "another turn");
    assert_eq!(glance.look(5, ms(62_200)), Seen::Began);
    assert_eq!(glance.look(7, ms(62_300)), Seen::Over(ms(1_100)));
}

fn seen(kernel: &Kernel, who: &'static str) -> (u64, i64) {
    let registry = &kernel.registry;
    let stalls = registry.counter(&STALLS, &[who]).get();
    (stalls, registry.gauge(&STALLED, &[who]).get())
}

// attack: K-06
#[tokio::test]
async fn a_stall_is_counted_shown_and_forgotten_with_who_stalled() {
    let (kernel, _publisher) = Kernel::new();
    let dog = &kernel.watchdog;
    let now = kernel.timeline.now();
    // As a worker in the middle of its turn looks from outside.
    let (busy, resting) = (Arc::new(Pulse::default()), Arc::new(Pulse::default()));
    let relieved = Arc::new(AtomicU64::new(0));
    let counted = relieved.clone();
    let relief: Relief = Arc::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    dog.enter("test", 3, &busy, Some(relief.clone()));
    dog.enter("test", 4, &resting, Some(relief));
    busy.turn();
    dog.look(now + ms(100));
    dog.look(now + ms(1_200));
    assert_eq!(seen(&kernel, "test"), (1, 1));
    let stalls = dog.stalls();
    assert_eq!(
        (stalls[0].who, stalls[0].index, stalls.len()),
        ("test", 3, 1)
    );
    assert_eq!(relieved.load(Ordering::Relaxed), 1);
    dog.look(now + ms(1_250));
    assert_eq!(relieved.load(Ordering::Relaxed), 2, "as long as it lasts");
    drop(busy);
    dog.look(now + ms(1_300));
    assert_eq!(relieved.load(Ordering::Relaxed), 2);
    assert_eq!(seen(&kernel, "test"), (1, 0));
    assert_eq!(dog.stalls(), []);
    assert_eq!(dog.shared.entries.lock().len(), 1, "the other is there");
}

// attack: K-06
#[tokio::test]
async fn every_poll_is_a_turn_and_a_panic_ends_it() {
    let (kernel, _publisher) = Kernel::new();
    let mut polls = 0;
    let life = std::future::poll_fn(|cx| {
        polls += 1;
        cx.waker().wake_by_ref();
        assert!(polls < 3, "as a unit might");
        Poll::<()>::Pending
    });
    let mut watched = Box::pin(kernel.watchdog.watched("test", 0, Arc::new(|| {}), life));
    let pulse = watched.pulse.clone();
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for turns in [2, 4] {
        assert!(watched.as_mut().poll(&mut cx).is_pending());
        assert_eq!(pulse.0.load(Ordering::Relaxed), turns);
    }
    let poll = std::panic::AssertUnwindSafe(|| watched.as_mut().poll(&mut cx));
    assert!(std::panic::catch_unwind(poll).is_err());
    assert_eq!(pulse.0.load(Ordering::Relaxed), 6, "it is not at it");
}

// attack: K-06
#[tokio::test(start_paused = true)]
async fn a_runtime_that_turns_beats_and_one_that_does_not_stalls() {
    let (kernel, _publisher) = Kernel::new();
    let dog = kernel.watchdog.clone();
    let mut beats = Box::pin(dog.heartbeat());
    for _ in 0..5 {
        assert!(tokio::time::timeout(ms(900), &mut beats).await.is_err());
        dog.look(kernel.timeline.now());
    }
    assert_eq!(seen(&kernel, RUNTIME), (0, 0));
    // Nobody polls it, as where every thread is held up.
    tokio::time::advance(ms(2_000)).await;
    dog.look(kernel.timeline.now());
    assert_eq!(seen(&kernel, RUNTIME), (1, 1));
    assert!(tokio::time::timeout(ms(900), &mut beats).await.is_err());
    dog.look(kernel.timeline.now());
    assert_eq!(seen(&kernel, RUNTIME), (1, 0));
}

static ENDED: AtomicBool = AtomicBool::new(false);

fn end() {
    ENDED.store(true, Ordering::SeqCst);
}

// attack: K-07
#[test]
fn who_outlives_the_supervisor_is_ended() {
    let (kernel, _publisher) = Kernel::new();
    let (watch, alive) = kernel.watchdog.watch(end).unwrap();
    drop((watch, alive));
    assert!(!ENDED.load(Ordering::SeqCst), "an orderly end is no death");
    let (watch, alive) = kernel.watchdog.watch(end).unwrap();
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _alive = alive;
        panic!("the supervisor");
    }));
    assert!(died.is_err());
    drop(watch);
    let until = clock_in(10_000);
    while !ENDED.load(Ordering::SeqCst) {
        assert!(crate::clock::now() < until, "nobody ends the process");
        std::thread::yield_now();
    }
}

fn clock_in(millis: u64) -> tokio::time::Instant {
    crate::clock::now() + ms(millis)
}

// attack: K-06
#[tokio::test]
async fn those_who_came_and_went_between_two_looks_take_no_room() {
    let (kernel, _publisher) = Kernel::new();
    let dog = &kernel.watchdog;
    for _ in 0..100 {
        dog.enter("test", 0, &Arc::new(Pulse::default()), None);
    }
    assert_eq!(dog.shared.entries.lock().len(), 1, "the last of them");
    let stalled = Arc::new(Pulse::default());
    dog.enter("test", 1, &stalled, None);
    stalled.turn();
    let now = kernel.timeline.now();
    dog.look(now + ms(100));
    dog.look(now + ms(1_200));
    drop(stalled);
    dog.enter("test", 1, &Arc::new(Pulse::default()), None);
    dog.look(now + ms(1_300));
    assert_eq!(
        seen(&kernel, "test"),
        (1, 0),
        "its end is told all the same"
    );
}
