//! An HTTP/1 connection: asleep without buffers between requests, awake with the parser while it is used.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;

use http::header::{CONNECTION, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use crate::door::{House, Panicked};
use crate::head::Framing;
use crate::line::Line;
use crate::pulse::{Order, Stance};
use crate::reply::{Handover, Reply};
use crate::service::{Fault, Service};
use crate::upload::Upload;

pub(crate) use wire::Wire;

mod wire;

/// Bytes of a body that are read at once.
const BODY_BYTES: usize = 64 * 1024;

/// What the socket's side and the request's side of a connection tell each other. One task uses it.
pub(crate) struct Talk {
    pub(crate) line: Arc<Line>,
    /// What the parser said of the head that passed last, until the socket's side has heard it.
    framing: AtomicU64,
    /// That head can be read in two ways.
    dirty: AtomicBool,
    /// A request has been taken whose answer is not all written.
    answering: AtomicBool,
    /// Part of a head has passed behind the request that is being answered.
    next_begun: AtomicBool,
    /// The rest has lasted long enough for a nap.
    rested: AtomicBool,
}

const UNTOLD: u64 = 0;
const CHUNKED: u64 = 1;
const THROUGH: u64 = 2;
const LENGTH: u64 = 3;

impl Talk {
    fn new(line: Arc<Line>) -> Arc<Self> {
        Arc::new(Self {
            line,
            framing: AtomicU64::new(UNTOLD),
            dirty: AtomicBool::new(false),
            answering: AtomicBool::new(false),
            next_begun: AtomicBool::new(false),
            rested: AtomicBool::new(false),
        })
    }

    /// A request has been taken; says whether its head was clean.
    fn begin(&self, request: &Request<Incoming>) -> bool {
        let body = request.body();
        let framing = match body.size_hint().exact() {
            _ if body.is_end_stream() => Framing::Length(0),
            Some(length) => Framing::Length(length),
            None => Framing::Chunked,
        };
        self.tell(framing);
        self.answering.store(true, Ordering::Relaxed);
        self.next_begun.store(false, Ordering::Relaxed);
        let pulse = &self.line.pulse;
        pulse.read.clear();
        pulse.take(Stance::Busy, &self.line.desk.clock);
        !self.dirty.load(Ordering::Relaxed)
    }

    fn tell(&self, framing: Framing) {
        let told = match framing {
            Framing::Chunked => CHUNKED,
            Framing::Through => THROUGH,
            Framing::Length(length) => length.saturating_add(LENGTH),
        };
        self.framing.store(told, Ordering::Relaxed);
    }

    fn told(&self) -> Option<Framing> {
        match self.framing.load(Ordering::Relaxed) {
            UNTOLD => return None,
            CHUNKED => Some(Framing::Chunked),
            THROUGH => Some(Framing::Through),
            length => Some(Framing::Length(length - LENGTH)),
        }
        .inspect(|_| self.framing.store(UNTOLD, Ordering::Relaxed))
    }

    /// The answer has been handed over: a new head may come, or has begun to.
    pub(crate) fn handed_over(&self) {
        if self.next_begun.load(Ordering::Relaxed) {
            self.head_begins();
        } else {
            self.rests();
        }
    }

    fn head_begins(&self) {
        let (line, clock) = (&self.line, &self.line.desk.clock);
        line.pulse.take(Stance::Head, clock);
        line.pulse.read.set(clock, line.patience.head);
    }

    fn rests(&self) {
        let (line, clock) = (&self.line, &self.line.desk.clock);
        line.pulse.take(Stance::Resting, clock);
        line.pulse.read.set(clock, line.patience.nap);
        self.rested.store(false, Ordering::Relaxed);
    }

    /// The rest has lasted for a while; the buffers may go, the time goes on.
    fn nap(&self) -> bool {
        let (line, clock) = (&self.line, &self.line.desk.clock);
        self.rested.store(true, Ordering::Relaxed);
        let left = line.patience.idle - line.patience.nap;
        line.pulse.read.set(clock, left);
        !self.answering.load(Ordering::Relaxed) && !self.next_begun.load(Ordering::Relaxed)
    }

    /// Whether it is time for a nap: rested, and not yet told so.
    fn is_tired(&self) -> bool {
        let pulse = &self.line.pulse;
        pulse.read.passed()
            && pulse.stance() == Stance::Resting
            && !self.rested.load(Ordering::Relaxed)
    }
}

/// Serves a connection to its end.
pub(crate) async fn serve<S: Service>(house: Arc<House<S>>, mut wire: Wire) {
    while wire.wakes().await {
        // Boxed: while asleep, the task should not have to keep room for it.
        match Box::pin(awake(&house, wire)).await {
            Some(tired) => wire = tired,
            None => return,
        }
    }
}

/// How a turn with the parser ends.
enum End {
    Over(Result<(), hyper::Error>),
    Cut,
    Nap,
}

/// The life between two naps; returns the socket if there is to be another.
async fn awake<S: Service>(house: &Arc<House<S>>, wire: Wire) -> Option<Wire> {
    let talk = wire.talk().clone();
    let guest = Arc::new(Guest {
        house: house.clone(),
        talk: talk.clone(),
    });
    let service = service_fn(move |request: Request<Incoming>| {
        let clean = guest.talk.begin(&request);
        let guest = guest.clone();
        let mut request = Some(request.map(|body| Upload::new(body, &guest.talk.line)));
        async move { Ok::<_, Infallible>(guest.answer(&mut request, clean).await) }
    });
    let mut connection = http1::Builder::new()
        .max_header_size(wire.head_bytes())
        .max_buf_size(wire.head_bytes().max(BODY_BYTES))
        .serve_connection(TokioIo::new(wire), service)
        .with_upgrades();
    let mut leaving = false;
    let end = poll_fn(|cx| {
        loop {
            // First what has come in, then whether it is time to leave: on a busy node both are heard at once.
            if let Poll::Ready(ended) = Pin::new(&mut connection).poll(cx) {
                return Poll::Ready(End::Over(ended));
            }
            match talk.line.pulse.ordered() {
                Order::Cut => return Poll::Ready(End::Cut),
                Order::Leave if !leaving => {
                    leaving = true;
                    Pin::new(&mut connection).graceful_shutdown();
                    continue;
                }
                _ => {}
            }
            if talk.is_tired() && talk.nap() && !leaving {
                return Poll::Ready(End::Nap);
            }
            return Poll::Pending;
        }
    });
    match end.await {
        End::Cut => None,
        End::Over(ended) => {
            if let Err(error) = &ended {
                tracing::debug!(peer = %talk.line.visit.peer, %error, "connection ended early");
            }
            if let Some(parts) = connection.into_parts() {
                parts.io.into_inner().lingers(ended.is_ok()).await;
            }
            None
        }
        End::Nap => {
            let parts = connection.into_parts()?;
            // Rested means that nothing of a next request has been read.
            debug_assert!(parts.read_buf.is_empty());
            Some(parts.io.into_inner())
        }
    }
}

/// One connection and the house it came to.
struct Guest<S> {
    house: Arc<House<S>>,
    talk: Arc<Talk>,
}

impl<S: Service> Guest<S> {
    async fn answer(
        &self,
        request: &mut Option<Request<Upload>>,
        clean: bool,
    ) -> Response<Reply<S::Body>> {
        let (talk, line) = (&self.talk, &self.talk.line);
        let handover = Handover::H1(talk.clone());
        if !clean {
            let mut answer = self.house.service.refuse(Fault::Malformed, &line.visit);
            close_after(&mut answer);
            return Reply::own(answer, handover);
        }
        let connect = request.as_ref().map(Request::method) == Some(&Method::CONNECT);
        match self.house.call(request, &line.visit).await {
            Ok(mut answer) => {
                let status = answer.status();
                if status == StatusCode::SWITCHING_PROTOCOLS || connect && status.is_success() {
                    talk.tell(Framing::Through);
                } else if self.house.is_closing() {
                    close_after(&mut answer);
                }
                Reply::service(answer, handover)
            }
            Err(Panicked) => Reply::own(
                self.house.service.refuse(Fault::Panic, &line.visit),
                handover,
            ),
        }
    }
}

fn close_after<B>(answer: &mut Response<B>) {
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(CONNECTION, close);
}
