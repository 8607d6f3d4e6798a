//! How long `enter` waits, by tokio's paused clock.
#![cfg(feature = "tokio")]
#![expect(
    clippy::disallowed_methods,
    reason = "a test is the one who tells the time"
)]

use std::time::Duration;

use concurrency_gate::{Gate, GateConfig, KeyHandle, Limit, Reason};
use tokio::time::{Instant, advance, sleep, timeout};

const NOW: Duration = Duration::from_secs(50);

fn door(limit: Limit) -> KeyHandle<u8> {
    let gate = Gate::new(GateConfig::new(limit)).expect("the limit makes sense");
    gate.handle(&0, NOW)
}

// req: GT-02
#[tokio::test(start_paused = true)]
async fn enter_waits_for_twenty_seconds_unless_told_otherwise() {
    for (limit, patience) in [
        (Limit::fixed(1).with_queue(1), 20_000),
        (
            Limit::fixed(1)
                .with_queue(1)
                .with_wait_timeout(Duration::from_millis(70)),
            70,
        ),
    ] {
        let door = door(limit);
        let _held = door.try_enter(NOW).unwrap();
        let start = Instant::now();
        let refused = door.enter(NOW, None).await.unwrap_err();
        assert_eq!(refused.reason(), Reason::Deadline);
        assert_eq!(start.elapsed(), Duration::from_millis(patience));
        assert_eq!(door.waiting(), 0);
    }
}

// req: GT-02
#[tokio::test(start_paused = true)]
async fn the_callers_deadline_ends_the_wait_if_it_comes_first() {
    let door = door(Limit::fixed(1).with_queue(1));
    let _held = door.try_enter(NOW).unwrap();
    let start = Instant::now();
    let deadline = NOW + Duration::from_secs(3);
    let refused = door.enter(NOW, Some(deadline)).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::Deadline);
    assert_eq!(start.elapsed(), Duration::from_secs(3));
}

// req: GT-02
#[tokio::test(start_paused = true)]
async fn cancellation_ends_the_wait_and_leaves_no_trace() {
    let door = door(Limit::fixed(1).with_queue(1));
    let held = door.try_enter(NOW).unwrap();
    let gone = timeout(Duration::from_secs(1), door.enter(NOW, None)).await;
    assert!(gone.is_err());
    assert_eq!(door.waiting(), 0);
    drop(held);
    assert!(door.enter(NOW, None).await.is_ok());
}

// req: GT-02, GT-04
#[tokio::test(start_paused = true)]
async fn waiters_are_served_in_the_order_of_their_arrival() {
    let door = door(Limit::fixed(1).with_queue(100));
    let order = std::cell::RefCell::new(Vec::new());
    let held = door.try_enter(NOW).unwrap();
    let visit = async |number: u32| {
        let lease = door.enter(NOW, None).await.unwrap();
        order.borrow_mut().push(number);
        sleep(Duration::from_millis(1)).await;
        drop(lease);
    };
    let release = async {
        advance(Duration::from_millis(5)).await;
        drop(held);
    };
    tokio::join!(visit(1), visit(2), visit(3), visit(4), release);
    assert_eq!(*order.borrow(), [1, 2, 3, 4]);
}
