//! The accept loop every HTTP door uses: bounded connections, real timeouts, a drain that answers what came in.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bounded_ring::{Permit, Slots};
use bytes::Bytes;
use futures_util::FutureExt;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tracing::Instrument as _;

pub use door::Door;
pub use problem::{Rejections, problem};
pub use timed::{IO_TIMEOUTS, Patience};

use crate::clock;
use crate::drain::Stage;
use crate::limits;
use crate::metrics::{Counter, Gauge, Kind, MetricSpec};
use crate::reject::Reject;
use crate::shutdown::Shutdown;
use crate::tasks::{Spawner, TaskKind};
use crate::tree::{Context, Failure};
use timed::{Posture, Timed, TimeoutCounters};

mod door;
pub mod problem;
mod timed;

/// The task a connection lives in.
pub static CONNECTION_TASK: TaskKind = TaskKind {
    name: "connection",
    doc: "one client connection of an HTTP door",
};

/// Connections accepted.
pub static ACCEPTED: MetricSpec = MetricSpec {
    name: "connections_accepted_total",
    kind: Kind::Counter,
    labels: &["door"],
    help: "Connections accepted",
};
/// Connections open.
pub static OPEN: MetricSpec = MetricSpec {
    name: "connections_open",
    kind: Kind::Gauge,
    labels: &["door"],
    help: "Connections open",
};
/// Accept errors.
pub static ACCEPT_ERRORS: MetricSpec = MetricSpec {
    name: "accept_errors_total",
    kind: Kind::Counter,
    labels: &["door"],
    help: "Connections that could not be accepted, mostly for want of file descriptors",
};

/// An answer.
pub type Answer = Response<Full<Bytes>>;

/// What a door does with requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one.
    fn handle(&self, request: Request<Incoming>) -> impl Future<Output = Answer> + Send;
}

/// The bounds of a door.
#[derive(Clone, Copy, Debug)]
pub struct DoorLimits {
    /// Connections at once; more wait in the backlog.
    pub connections: usize,
    /// How long peers may take.
    pub patience: Patience,
}

/// A door's life as a child: accepts until told to end, then answers what came in and returns.
pub async fn serve<H: Handler>(
    context: Context,
    door: Arc<Door>,
    limits: DoorLimits,
    handler: Arc<H>,
) -> Result<(), Failure> {
    let listener = door.listener()?;
    let hall = Hall::new(&context, &door, limits, handler);
    context.ready.ready();
    let told = context.told_to_end();
    tokio::pin!(told);
    loop {
        tokio::select! {
            biased;
            () = &mut told => break,
            accepted = listener.accept() => hall.welcome(accepted).await,
        }
    }
    // What the kernel has already accepted for us would be reset by closing: take it in first.
    let listener = listener.into_std()?;
    for _ in 0..=limits::BACKLOG {
        let Some(accepted) = door::in_backlog(&listener) else {
            break;
        };
        hall.welcome(accepted).await;
    }
    door.close();
    drop(listener);
    hall.slots.idle().await;
    Ok(())
}

/// What all connections of a door share.
struct Hall<H> {
    slots: Slots,
    open: Gauge,
    connections: Spawner,
    accepted: Counter,
    errors: Counter,
    name: &'static str,
    guest: Arc<Guest<H>>,
}

struct Guest<H> {
    handler: Arc<H>,
    patience: Patience,
    timeouts: TimeoutCounters,
    rejections: Rejections,
    shutdown: Shutdown,
    end: Stage,
    door: &'static str,
    /// Called while somebody waits for a place: who only holds a connection open gives it up.
    crowded: Notify,
}

impl<H: Handler> Hall<H> {
    fn new(context: &Context, door: &Door, limits: DoorLimits, handler: Arc<H>) -> Self {
        let registry = &context.kernel.registry;
        let guest = Guest {
            handler,
            patience: limits.patience,
            timeouts: TimeoutCounters::new(registry),
            rejections: Rejections::new(registry),
            shutdown: context.kernel.shutdown.clone(),
            end: context.spec.phase.stage(),
            door: door.name(),
            crowded: Notify::new(),
        };
        Self {
            slots: Slots::new(limits.connections),
            open: registry.gauge(&OPEN, &[door.name()]),
            connections: context.tasks.kind(&CONNECTION_TASK),
            accepted: registry.counter(&ACCEPTED, &[door.name()]),
            errors: registry.counter(&ACCEPT_ERRORS, &[door.name()]),
            name: door.name(),
            guest: Arc::new(guest),
        }
    }

    async fn welcome(&self, accepted: io::Result<(TcpStream, SocketAddr)>) {
        match accepted {
            Ok((stream, peer)) => {
                self.accepted.inc();
                // Answers are written whole; waiting for more to say only delays them.
                let _not_supported = stream.set_nodelay(true).is_err();
                let (guest, stay) = (
                    self.guest.clone(),
                    Stay::new(&self.open, self.place().await),
                );
                self.connections.spawn(async move {
                    let _stay = stay;
                    guest.entertain(stream, peer).await;
                });
            }
            Err(error) => {
                self.errors.inc();
                tracing::warn!(door = self.name, %error, "cannot accept a connection");
                if !of_one_connection(&error) {
                    tokio::time::sleep(limits::ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

impl<H> Hall<H> {
    /// A place for one connection. When all are taken, those that only hold one are asked to leave; the rest of the
    /// newcomers wait in the backlog.
    async fn place(&self) -> Option<Permit> {
        if let Some(permit) = self.slots.try_acquire() {
            return Some(permit);
        }
        let freed = self.slots.acquire();
        tokio::pin!(freed);
        loop {
            self.guest.crowded.notify_waiters();
            tokio::select! {
                permit = &mut freed => return permit,
                () = tokio::time::sleep(limits::CROWDED_GLANCE) => {}
            }
        }
    }
}

/// A connection's place; given back when it ends, however it ends.
struct Stay {
    open: Gauge,
    _permit: Option<Permit>,
}

impl Stay {
    fn new(open: &Gauge, permit: Option<Permit>) -> Self {
        open.inc();
        Self {
            open: open.clone(),
            _permit: permit,
        }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.open.dec();
    }
}

/// How a connection is asked to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// What it has asked for is still answered.
    AfterAnswer,
    /// It has had its time to ask.
    Now,
}

/// Whether an error is about the one connection that was to be accepted. Any other comes again at once, unless
/// something is freed or mended first.
fn of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

impl<H: Handler> Guest<H> {
    async fn entertain(self: Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        let posture = Posture::default();
        let timed = Timed::new(
            stream,
            posture.clone(),
            self.patience,
            self.timeouts.clone(),
        );
        let (guest, seen) = (self.clone(), posture.clone());
        let service = service_fn(move |request| {
            seen.busy();
            let (guest, seen) = (guest.clone(), seen.clone());
            async move {
                let answer = guest.answer(request).await;
                seen.resting();
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .max_headers(limits::HEAD_FIELDS)
            .max_buf_size(limits::HEAD_BYTES)
            .serve_connection(TokioIo::new(timed), service);
        tokio::pin!(connection);
        let ended = tokio::select! {
            // First what has come in, then whether it is time to leave: on a busy node both are heard at once.
            biased;
            ended = &mut connection => ended,
            leave = self.time_to_leave(&posture) => {
                // One that has said nothing is owed no answer; hyper would wait for its first request.
                if leave == Leave::Now || posture.is_fresh() {
                    return;
                }
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "connection ended early");
        }
    }

    /// Waits until the node drains, or until others need the place of a connection that makes no use of it.
    async fn time_to_leave(&self, posture: &Posture) -> Leave {
        let drained = async {
            self.shutdown.reached(self.end).await;
            tokio::time::sleep(limits::LAST_LOOK).await;
        };
        tokio::select! {
            () = drained => Leave::AfterAnswer,
            leave = self.crowded_out(posture) => leave,
        }
    }

    async fn crowded_out(&self, posture: &Posture) -> Leave {
        // Whoever has just come is given the time to say something.
        tokio::time::sleep(limits::CROWDED_GLANCE * 2).await;
        let mut slow = None;
        loop {
            self.crowded.notified().await;
            if posture.is_fresh() || posture.is_resting() {
                return Leave::AfterAnswer;
            }
            let now = clock::now();
            match (posture.head(), slow) {
                (Some(head), Some((same, since))) if head == same => {
                    if now - since >= limits::CROWDED_HEAD {
                        return Leave::Now;
                    }
                }
                (head, _) => slow = head.map(|head| (head, now)),
            }
        }
    }

    /// What a collector is told of a request; nothing is recorded in a build that cannot send it.
    fn span(&self, request: &Request<Incoming>) -> tracing::Span {
        if cfg!(feature = "otlp") {
            let path = request.uri().path();
            tracing::info_span!("request", door = self.door, method = %request.method(), path)
        } else {
            tracing::Span::none()
        }
    }

    /// A panic in the handler is one bad answer, not a lost connection.
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let span = self.span(&request);
        let handled = AssertUnwindSafe(async { self.handler.handle(request).await })
            .catch_unwind()
            .instrument(span)
            .await;
        let mut answer = handled.unwrap_or_else(|payload| {
            let reason = crate::tasks::panic_message(&*payload);
            tracing::error!(reason, "a handler panicked");
            self.rejections.answer(
                Reject::INTERNAL,
                "the node failed to answer; its log says why",
            )
        });
        if self.shutdown.draining() {
            answer
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }
}

#[cfg(test)]
mod tests;
