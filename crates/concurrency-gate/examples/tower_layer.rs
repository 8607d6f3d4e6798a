//! A gate in front of a tower service, by the request's tenant.
#![expect(
    clippy::disallowed_methods,
    reason = "an example is the one who tells the time"
)]

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use concurrency_gate::{Gate, GateConfig, GateLayer, GatedError, Limit};
use tower_layer::Layer;
use tower_service::Service;

#[derive(Clone)]
struct Request {
    tenant: &'static str,
}

#[derive(Clone)]
struct Slow;

impl Service<Request> for Slow {
    type Response = String;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<String, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(format!("hello, {}", request.tenant))
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let gate = Gate::new(GateConfig::new(Limit::fixed(1).with_queue(1)))?;
    let by_tenant = |request: &Request| request.tenant;
    let layer = GateLayer::new(gate.clone(), by_tenant, move || start.elapsed());
    let mut service = layer.layer(Slow);

    // Three of one tenant: one runs, one waits, one is refused. The other tenant does not notice.
    let mut call = |tenant| service.call(Request { tenant });
    let (a, b, c, other) = (
        call("greedy"),
        call("greedy"),
        call("greedy"),
        call("modest"),
    );
    let (a, b, c, other) = tokio::join!(a, b, c, other);
    for answer in [&a, &b, &other] {
        println!("{}", answer.as_ref().map_err(ToString::to_string)?);
    }
    let Err(GatedError::Rejected(rejection)) = c else {
        return Err("the third should have been refused".into());
    };
    println!("refused: {rejection}");
    println!("{}", gate.report());
    Ok(())
}
