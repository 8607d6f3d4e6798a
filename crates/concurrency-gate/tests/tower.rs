//! The layer in front of services: what is waited for, what is refused, what counts as failure.
#![cfg(feature = "tower")]
#![expect(
    clippy::disallowed_methods,
    reason = "a test is the one who tells the time"
)]

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use concurrency_gate::{BreakerConfig, Gate, GateConfig, GateLayer, GatedError, Limit, Reason};
use tokio::time::sleep;
use tower_layer::Layer;
use tower_service::Service;

const SECOND: Duration = Duration::from_secs(1);

fn origin() -> impl Fn() -> Duration + Clone {
    let start = tokio::time::Instant::now();
    move || start.elapsed()
}

fn gate(limit: Limit) -> Gate<u8> {
    Gate::new(GateConfig::new(limit)).expect("the limit makes sense")
}

/// Takes a second and notes how many are inside at most.
#[derive(Clone, Default)]
struct Slow {
    inside: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
}

impl Service<u8> for Slow {
    type Response = u8;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<u8, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u8) -> Self::Future {
        let Self { inside, most } = self.clone();
        Box::pin(async move {
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(SECOND).await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok(request)
        })
    }
}

// req: GT-13
#[tokio::test(start_paused = true)]
async fn requests_of_a_key_wait_for_their_turn_and_other_keys_do_not() {
    let slow = Slow::default();
    let gate = gate(Limit::fixed(2).with_queue(8));
    let layer = GateLayer::new(gate.clone(), |request: &u8| *request % 2, origin());
    let mut service = layer.layer(slow.clone());
    let start = tokio::time::Instant::now();
    let even: Vec<_> = (0..6).map(|n| service.call(n * 2)).collect();
    let odd = service.call(1);
    let odd = async {
        assert_eq!(odd.await, Ok(1));
        start.elapsed()
    };
    let even = async {
        for (n, response) in even.into_iter().enumerate() {
            assert_eq!(response.await, Ok(n as u8 * 2));
        }
    };
    let (_, alone) = tokio::join!(even, odd);
    assert_eq!(alone, SECOND, "nobody before it");
    assert!(slow.most.load(Ordering::SeqCst) <= 3, "two even, one odd");
    assert_eq!(gate.statistics().acquired, 7);
    assert!(gate.report().keys.iter().all(|key| key.idle));
}

// req: GT-13, GT-08
#[tokio::test(start_paused = true)]
async fn a_refused_request_never_reaches_the_service() {
    let slow = Slow::default();
    let layer = GateLayer::new(gate(Limit::fixed(1)), |_: &u8| 0, origin());
    let mut service = layer.layer(slow.clone());
    let (first, second) = (service.call(1), service.call(2));
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first, Ok(1));
    let Err(GatedError::Rejected(rejection)) = second else {
        panic!("there was one slot: {second:?}")
    };
    assert_eq!(rejection.reason(), Reason::Saturated);
    assert_eq!(slow.most.load(Ordering::SeqCst), 1);
}

// req: GT-13, GT-03
#[tokio::test(start_paused = true)]
async fn dropping_the_response_future_gives_the_slot_back() {
    let gate = gate(Limit::fixed(1).with_breaker(BreakerConfig::consecutive(1)));
    let layer = GateLayer::new(gate.clone(), |_: &u8| 0, origin());
    let mut service = layer.layer(Slow::default());
    let quit = tokio::time::timeout(SECOND / 2, service.call(1)).await;
    assert!(quit.is_err());
    assert_eq!(
        service.call(2).await,
        Ok(2),
        "a cancelled caller is no failure"
    );
}

// req: GT-13, GT-11
#[tokio::test(start_paused = true)]
async fn keys_beyond_the_cap_give_back_what_they_took() {
    let config = GateConfig {
        keys_max: 1,
        ..GateConfig::new(Limit::fixed(1).with_queue(4))
    };
    let gate = Gate::new(config).expect("the limit makes sense");
    let _fills_the_table = gate.handle(&0, Duration::ZERO);
    let layer = GateLayer::new(gate.clone(), |request: &u8| *request, origin());
    let mut service = layer.layer(Slow::default());
    for _ in 0..10 {
        let calls = (service.call(1), service.call(1), service.call(1));
        let answers = tokio::join!(calls.0, calls.1, calls.2);
        assert_eq!(answers, (Ok(1), Ok(1), Ok(1)));
        assert!(gate.report().keys.iter().all(|key| key.in_use == 0));
    }
}

#[derive(Clone)]
struct Broken;

impl Service<u8> for Broken {
    type Response = u8;
    type Error = &'static str;
    type Future = Ready<Result<u8, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: u8) -> Self::Future {
        ready(Err("out of order"))
    }
}

// req: GT-13, GT-07
#[tokio::test(start_paused = true)]
async fn errors_of_the_service_open_the_breaker() {
    let limit = Limit::fixed(1).with_breaker(BreakerConfig::consecutive(2));
    let mut service = GateLayer::new(gate(limit), |_: &u8| 0, origin()).layer(Broken);
    for _ in 0..2 {
        assert_eq!(
            service.call(0).await,
            Err(GatedError::Inner("out of order"))
        );
    }
    let Err(GatedError::Rejected(rejection)) = service.call(0).await else {
        panic!("the breaker is open")
    };
    assert_eq!(rejection.reason(), Reason::BreakerOpen);
}

// req: GT-05, GT-13
#[tokio::test(start_paused = true)]
async fn a_service_keeps_the_last_key_from_being_forgotten_and_no_other() {
    let gate = Gate::new(GateConfig {
        min_idle_age: SECOND,
        ..GateConfig::new(Limit::fixed(1))
    });
    let gate = gate.expect("the settings make sense");
    let clock = origin();
    let layer = GateLayer::new(gate.clone(), |request: &u8| *request, clock.clone());
    let mut service = layer.layer(Slow::default());
    for key in [1, 1, 2, 2, 3] {
        assert_eq!(service.call(key).await, Ok(key));
    }
    sleep(10 * SECOND).await;
    let swept = gate.sweep(clock());
    assert_eq!(
        (swept.evicted, swept.kept),
        (2, 1),
        "of three keys, one is kept"
    );
    let clone = service.clone();
    drop(service);
    sleep(10 * SECOND).await;
    assert_eq!(gate.sweep(clock()).kept, 0, "a clone holds on to nothing");
    drop(clone);
}
