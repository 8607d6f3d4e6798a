use super::*;
use crate::http::{Failure, exchange, get, request_bytes};
use crate::upstream::Upstream;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const SOON: Duration = Duration::from_millis(300);

/// Milliseconds after which `count` requests of 60 ms each were answered, sorted.
async fn answered_ms(upstream: &Upstream, count: usize) -> Vec<u128> {
    let (begun, addr) = (Instant::now(), upstream.addr());
    let mut clients = JoinSet::new();
    for _ in 0..count {
        clients.spawn(async move {
            get(addr, "/?delay_ms=60").await.unwrap();
            begun.elapsed().as_millis()
        });
    }
    let mut ended = clients.join_all().await;
    ended.sort_unstable();
    ended
}

#[tokio::test]
async fn only_so_many_work_at_once() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_places(2);
    let ended = answered_ms(&upstream, 8).await;
    let rounds: Vec<_> = ended.iter().step_by(2).map(|ms| ms / 60).collect();
    assert!(
        rounds.iter().zip(1..).all(|(round, least)| *round >= least),
        "{ended:?}"
    );
    assert!(ended[7] < 480, "two at a time, not one: {ended:?}");
}

#[tokio::test]
async fn raising_the_places_lets_waiters_in_at_once() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_places(0);
    let waiting = answered_ms(&upstream, 4);
    let raise = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        upstream.set_places(4);
    };
    let (ended, ()) = tokio::join!(waiting, raise);
    assert!(ended[0] >= 160 && ended[3] < 160 + 3 * 60, "{ended:?}");
}

#[tokio::test]
async fn the_place_is_kept_for_a_client_that_left() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_places(1);
    let gone = request_bytes("GET", "h", "/?delay_ms=200", &[], b"");
    let begun = Instant::now();
    assert_eq!(
        exchange(upstream.addr(), &gone, Duration::from_millis(40))
            .await
            .unwrap_err(),
        Failure::Timeout
    );
    get(upstream.addr(), "/").await.unwrap();
    assert!(
        begun.elapsed() >= Duration::from_millis(200),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn waiters_are_served_in_order_and_departed_ones_pass_their_place_on() {
    let places = Arc::new(Places::new(1));
    let held = places.take().await;
    let mut waiters: Vec<_> = (0..3).map(|_| Box::pin(places.take())).collect();
    for waiter in &mut waiters {
        let polled = tokio::time::timeout(Duration::ZERO, waiter.as_mut()).await;
        assert!(polled.is_err(), "the place is taken");
    }
    drop(waiters.remove(0));
    drop(held);
    assert!(
        tokio::time::timeout(Duration::ZERO, waiters[1].as_mut())
            .await
            .is_err(),
        "out of turn"
    );
    let second = tokio::time::timeout(SOON, waiters[0].as_mut())
        .await
        .expect("its turn");
    drop(second);
    tokio::time::timeout(SOON, waiters[1].as_mut())
        .await
        .expect("the last one's turn");
}

#[tokio::test]
async fn who_finds_no_place_can_be_refused_at_once() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_places(1);
    upstream.refuse_beyond_places();
    let addr = upstream.addr();
    let first = tokio::spawn(async move { get(addr, "/?delay_ms=300").await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(get(addr, "/").await.unwrap().status, 503);
    assert_eq!(first.await.unwrap().unwrap().status, 200);
    assert_eq!(get(addr, "/").await.unwrap().status, 200);
}
