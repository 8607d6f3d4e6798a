use std::sync::atomic::AtomicUsize;
use std::task::Wake;

use super::*;

#[derive(Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn watched(clock: &Clockwork) -> (Watched, Arc<Calls>) {
    let (pulse, calls) = (clock.watch(Stance::Fresh), Arc::new(Calls::default()));
    pulse.belongs_to(&calls.clone().into());
    (pulse, calls)
}

// req: GW-03
#[test]
fn a_deadline_is_never_early_and_wakes_once() {
    let clock = Clockwork::new();
    let (pulse, calls) = watched(&clock);
    pulse.read.set(&clock, 3);
    // The tick of the moment may be nearly over: three whole ones follow it.
    clock.turn_to(4);
    assert!(!pulse.read.passed());
    clock.turn_to(5);
    assert!(pulse.read.passed() && !pulse.write.passed());
    clock.turn_to(6);
    assert_eq!(calls.0.load(Ordering::Relaxed), 1);
}

#[test]
fn a_deadline_that_moves_ahead_of_the_sweep_never_passes() {
    let clock = Clockwork::new();
    let (pulse, calls) = watched(&clock);
    for now in 2..50 {
        pulse.write.set(&clock, 2);
        clock.turn_to(now);
    }
    pulse.write.clear();
    clock.turn_to(100);
    assert_eq!(calls.0.load(Ordering::Relaxed), 0);
}

#[test]
fn what_was_dropped_is_forgotten_and_holds_no_waker() {
    let clock = Clockwork::new();
    let (pulse, calls) = watched(&clock);
    drop(pulse);
    assert_eq!(Arc::strong_count(&calls), 1);
    clock.turn_to(2);
    assert!(clock.pulses.lock().is_empty());
}

// req: GW-03
#[test]
fn only_those_who_make_no_use_of_their_place_are_asked_to_leave() {
    let clock = Clockwork::new();
    let stances = [Stance::Fresh, Stance::Head, Stance::Busy, Stance::Resting];
    let pulses = stances.map(|stance| {
        let (pulse, _) = watched(&clock);
        pulse.take(stance, &clock);
        pulse
    });
    let orders = || pulses.each_ref().map(|pulse| pulse.ordered());
    clock.make_room();
    assert_eq!(orders(), [Order::Stay; 4], "all have just come");
    clock.turn_to(4);
    clock.make_room();
    let leave = [Order::Leave, Order::Stay, Order::Stay, Order::Leave];
    assert_eq!(orders(), leave);
    clock.turn_to(20);
    clock.make_room();
    assert_eq!(orders()[1..3], [Order::Cut, Order::Stay]);
}

#[test]
fn an_order_is_not_taken_back_by_a_milder_one() {
    let clock = Clockwork::new();
    let (pulse, calls) = watched(&clock);
    pulse.order(Order::Cut);
    clock.dismiss();
    assert_eq!(pulse.ordered(), Order::Cut);
    assert_eq!(calls.0.load(Ordering::Relaxed), 1);
}

// A crowd that came at once is late at once: others are not to wait until all of it has been told.
// req: GW-03
#[tokio::test]
async fn of_many_who_are_late_at_once_one_is_woken_at_a_time() {
    let clock = Clockwork::new();
    let crowd: Vec<_> = (0..SEEN_AT_ONCE + 100).map(|_| watched(&clock)).collect();
    for (pulse, _) in &crowd {
        pulse.read.set(&clock, 3);
    }
    let woken = || -> usize {
        crowd
            .iter()
            .map(|(_, calls)| calls.0.load(Ordering::Relaxed))
            .sum()
    };
    let mut sweep = std::pin::pin!(clock.sweep(9));
    let (mut before, mut most) = (0, 0);
    std::future::poll_fn(|cx| {
        let swept = sweep.as_mut().poll(cx);
        let now = woken();
        (before, most) = (now, most.max(now - before));
        swept
    })
    .await;
    assert_eq!((before, most), (crowd.len(), 1));
}
