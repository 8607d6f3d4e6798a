//! A gate in front of a tower service.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::breaker::Outcome;
use crate::enter::Enter;
use crate::gate::Gate;
use crate::handle::KeyHandle;
use crate::lease::Lease;
use crate::rejection::Rejection;

/// What every service of a layer shares: the gate, the key of a request, the time.
struct Rules<K, Key, Clock> {
    gate: Gate<K>,
    key: Key,
    clock: Clock,
}

/// Puts a [`Gate`] in front of a service. Requests wait in the call, not in `poll_ready`: one key
/// without a free slot must not hold up the others.
pub struct GateLayer<K, Key, Clock> {
    rules: Arc<Rules<K, Key, Clock>>,
}

/// A service behind a gate. It keeps the key it was last asked for, since the next request is often of the same; as
/// long as it lives, that one is not evicted. A clone begins without.
pub struct GateService<S, K, Key, Clock> {
    inner: S,
    rules: Arc<Rules<K, Key, Clock>>,
    last: Option<KeyHandle<K>>,
}

impl<S, K: Hash + Eq + Clone, Key, Clock> GateService<S, K, Key, Clock> {
    #[inline]
    fn handle(&mut self, key: &K, now: Duration) -> KeyHandle<K> {
        match &self.last {
            Some(last) if last.is_own_of(key) => last.clone(),
            _ => self.look_up(key, now),
        }
    }

    fn look_up(&mut self, key: &K, now: Duration) -> KeyHandle<K> {
        let handle = self.rules.gate.handle(key, now);
        // One that shares entries may have its own the next time.
        self.last = (!handle.is_shared()).then(|| handle.clone());
        handle
    }
}

impl<K, Key, Clock> GateLayer<K, Key, Clock> {
    /// `key` names the key of a request, `clock` tells the time since some fixed moment.
    pub fn new(gate: Gate<K>, key: Key, clock: Clock) -> Self {
        Self {
            rules: Arc::new(Rules { gate, key, clock }),
        }
    }
}

impl<S, K, Key, Clock> Layer<S> for GateLayer<K, Key, Clock> {
    type Service = GateService<S, K, Key, Clock>;

    fn layer(&self, inner: S) -> Self::Service {
        GateService {
            inner,
            rules: Arc::clone(&self.rules),
            last: None,
        }
    }
}

impl<S, K, Key, Clock, Request> Service<Request> for GateService<S, K, Key, Clock>
where
    S: Service<Request> + Clone,
    K: Hash + Eq + Clone + 'static,
    Key: Fn(&Request) -> K,
    Clock: Fn() -> Duration + Clone,
{
    type Response = S::Response;
    type Error = GatedError<S::Error>;
    type Future = Gated<S, K, Clock, Request>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(GatedError::Inner)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let now = (self.rules.clock)();
        let key = (self.rules.key)(&request);
        let handle = self.handle(&key, now);
        let stage = match handle.enter_at_once(now) {
            Ok(lease) => Stage::Inside {
                response: self.inner.call(request),
                lease: Some(lease),
            },
            Err(handle) => {
                // The clone is not ready; the one that was polled goes with the request.
                let fresh = self.inner.clone();
                let inner = std::mem::replace(&mut self.inner, fresh);
                Stage::Entering {
                    enter: handle.into_enter(now),
                    call: Some((inner, request)),
                }
            }
        };
        Gated {
            stage,
            clock: self.rules.clock.clone(),
        }
    }
}

pin_project! {
    /// A request on its way: first in line, then inside. An `Err` of the service is a failure for
    /// the breaker and the policy, dropping the future is not.
    pub struct Gated<S, K, Clock, Request>
    where
        S: Service<Request>,
        K: 'static,
    {
        #[pin]
        stage: Stage<S, K, Request>,
        clock: Clock,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<S, K, Request>
    where
        S: Service<Request>,
        K: 'static,
    {
        Entering {
            #[pin]
            enter: Enter<'static, K>,
            call: Option<(S, Request)>,
        },
        Inside {
            #[pin]
            response: S::Future,
            lease: Option<Lease<'static, K>>,
        },
    }
}

impl<S, K, Clock, Request> Future for Gated<S, K, Clock, Request>
where
    S: Service<Request>,
    K: 'static,
    Clock: Fn() -> Duration,
{
    type Output = Result<S::Response, GatedError<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.stage.as_mut().project() {
                StageProjection::Entering { enter, call } => {
                    let lease = ready!(enter.poll(cx)).map_err(GatedError::Rejected)?;
                    let (mut inner, request) =
                        call.take().expect("a future is not polled after its end");
                    let response = inner.call(request);
                    this.stage.set(Stage::Inside {
                        response,
                        lease: Some(lease),
                    });
                }
                StageProjection::Inside { response, lease } => {
                    let answer = ready!(response.poll(cx));
                    if let Some(lease) = lease.take() {
                        let now = (this.clock)();
                        end(lease, outcome(&answer), now);
                    }
                    return Poll::Ready(answer.map_err(GatedError::Inner));
                }
            }
        }
    }
}

fn outcome<R, E>(answer: &Result<R, E>) -> Outcome {
    match answer {
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::Failure,
    }
}

fn end<K>(lease: Lease<'_, K>, outcome: Outcome, now: Duration) {
    match outcome {
        Outcome::Success => lease.success(now),
        Outcome::Failure => lease.failure(now),
    }
}

/// Why a gated request has no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatedError<E> {
    /// The gate refused it; the service never saw it.
    Rejected(Rejection),
    /// The service failed.
    Inner(E),
}

impl<E: fmt::Display> fmt::Display for GatedError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::Inner(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for GatedError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Rejected(_) => None,
            Self::Inner(error) => Some(error),
        }
    }
}

impl<K, Key, Clock> Clone for GateLayer<K, Key, Clock> {
    fn clone(&self) -> Self {
        Self {
            rules: Arc::clone(&self.rules),
        }
    }
}

impl<S: Clone, K, Key, Clock> Clone for GateService<S, K, Key, Clock> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            rules: Arc::clone(&self.rules),
            last: None,
        }
    }
}

impl<K, Key, Clock> fmt::Debug for GateLayer<K, Key, Clock> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateLayer")
            .field("gate", &self.rules.gate)
            .finish_non_exhaustive()
    }
}

impl<S: fmt::Debug, K, Key, Clock> fmt::Debug for GateService<S, K, Key, Clock> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateService")
            .field("inner", &self.inner)
            .field("gate", &self.rules.gate)
            .finish_non_exhaustive()
    }
}
