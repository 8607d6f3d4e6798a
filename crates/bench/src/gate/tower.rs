//! A service that answers at once, behind a gate and behind tower's own limits.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use concurrency_gate::{Gate, GateConfig, GateLayer, Limit};
use tower::limit::ConcurrencyLimitLayer;
use tower::load_shed::LoadShedLayer;
use tower::{Layer, Service};

use super::{NOW, at_once};
use crate::clock::Clock;
use crate::frame::Cost;

#[derive(Clone)]
struct Echo;

impl Service<u64> for Echo {
    type Response = u64;
    type Error = Infallible;
    type Future = Ready<Result<u64, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u64) -> Self::Future {
        ready(Ok(request))
    }
}

fn calls<S: Service<u64> + 'static>(mut service: S, operations: usize) -> Cost {
    Box::new(move || {
        let mut cx = Context::from_waker(Waker::noop());
        Clock::Wall.nanos_each(operations, || {
            for request in 0..operations as u64 {
                assert!(service.poll_ready(&mut cx).is_ready());
                black_box(at_once(pin!(service.call(request))).is_ok());
            }
        })
    })
}

pub(super) fn gate(operations: usize) -> Cost {
    let gate = Gate::new(GateConfig::new(Limit::fixed(8))).expect("the limit makes sense");
    calls(
        GateLayer::new(gate, |_: &u64| 0_u64, || NOW).layer(Echo),
        operations,
    )
}

pub(super) fn theirs(operations: usize) -> Cost {
    let limited = ConcurrencyLimitLayer::new(8).layer(Echo);
    calls(LoadShedLayer::new().layer(limited), operations)
}
