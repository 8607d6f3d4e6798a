//! The accept loop every HTTP door uses: bounded connections, real timeouts, a drain that answers what came in.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::Notify;
use tracing::Instrument as _;

pub use door::Door;
pub use hall::{Hall, Host, Stay};
pub use problem::{Rejections, problem};
pub use timed::{IO_TIMEOUTS, Patience};

use crate::clock;
use crate::drain::Stage;
use crate::limits;
use crate::metrics::{Kind, MetricSpec};
use crate::net::TcpStream;
use crate::reject::Reject;
use crate::shutdown::Shutdown;
use crate::tasks::{Spawner, TaskKind};
use crate::tree::{Context, Failure};
use timed::{Posture, Timed, TimeoutCounters};

mod door;
mod hall;
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
    let hall = Hall::new(&context, &door, limits.connections);
    let lobby = Lobby::new(&context, &door, limits.patience, handler);
    hall.receive(&context, &door, &lobby).await?;
    hall.empty().await;
    Ok(())
}

/// What receives the connections of a door.
struct Lobby<H> {
    connections: Spawner,
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
    /// Whether anybody is told of spans.
    traced: bool,
    /// Called while somebody waits for a place: who only holds a connection open gives it up.
    crowded: Notify,
}

impl<H: Handler> Lobby<H> {
    fn new(context: &Context, door: &Door, patience: Patience, handler: Arc<H>) -> Self {
        let registry = &context.kernel.registry;
        let guest = Guest {
            handler,
            patience,
            timeouts: TimeoutCounters::new(registry),
            rejections: Rejections::new(registry),
            shutdown: context.kernel.shutdown.clone(),
            end: context.spec.phase.stage(),
            door: door.name(),
            traced: context.kernel.tracer.recorder().is_some(),
            crowded: Notify::new(),
        };
        Self {
            connections: context.tasks.kind(&CONNECTION_TASK),
            guest: Arc::new(guest),
        }
    }
}

impl<H: Handler> Host for Lobby<H> {
    fn welcome(&self, stream: TcpStream, peer: SocketAddr, stay: Stay) {
        let guest = self.guest.clone();
        self.connections.spawn(async move {
            let _stay = stay;
            guest.entertain(stream, peer).await;
        });
    }

    fn crowded(&self) {
        self.guest.crowded.notify_waiters();
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

    /// What a collector is told of a request; nothing is recorded where none is.
    fn span(&self, request: &Request<Incoming>) -> tracing::Span {
        if self.traced {
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
