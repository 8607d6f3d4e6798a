//! An HTTP/2 connection: streams in tasks of their own, one clock for what stands still.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use kernel::lock::{Lock, LockSpec};
use thiserror::Error;

use crate::door::{House, Panicked};
use crate::line::Line;
use crate::pulse::{Order, Stance};
use crate::reply::{Handover, Reply};
use crate::service::{Fault, Service};
use crate::settings::DoorSettings;
use crate::upload::Upload;

pub(crate) use streams::{STREAM_TASK, Stream};
pub(crate) use wire::{WIRE, Wire};

mod batch;
mod ledger;
mod streams;
mod turn;
mod wire;

/// How often a silent peer is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(30);
/// Requests reset before they were looked at.
const PENDING_RESETS: usize = 20;
/// Resets that were our answer to a broken stream.
const LOCAL_RESETS: usize = 1024;
/// Bytes of a body that may come unread.
const STREAM_WINDOW: u32 = 128 * 1024;
/// For streams of a connection to share, however few it may have: the codec counts 256 bytes for the smallest piece
/// of a body and cuts the connection off when unread pieces come to half of its window. One upload in messages of
/// six bytes stays below that, however slowly it is taken.
const LEAST_WINDOW: u32 = 12 * 1024 * 1024;
/// Bytes of an answer that wait in the connection for the peer.
const SEND_BUFFER: usize = 64 * 1024;

/// The stream that was taken last and has no task yet.
pub(crate) static NEWBORN: LockSpec = LockSpec {
    name: "door_newborn",
    level: 46,
    doc: "hands a stream from the call to the task it gets; one task uses it, twice per request",
};

/// What a connection's streams share.
pub(crate) struct Streams {
    pub(crate) line: Arc<Line>,
    /// Requests whose answers are not handed over.
    open: AtomicU32,
    /// Requests whose answers have not gone out.
    unfinished: AtomicU32,
    leaving: AtomicBool,
    newborn: Lock<Option<Arc<Stream>>>,
}

/// What it means that a connection's time is over.
#[derive(Debug, PartialEq, Eq)]
enum Late {
    /// It is in use after all.
    Not,
    /// Nobody asked for anything.
    Idle,
    /// The peer does not take what it asked for.
    Stalled,
}

/// Why a connection ended early.
#[derive(Debug, Error)]
enum Broken {
    #[error("{0}")]
    Codec(hyper::Error),
    #[error("{0}")]
    Socket(io::Error),
}

impl Streams {
    fn new(line: Arc<Line>) -> Arc<Self> {
        Arc::new(Self {
            line,
            open: AtomicU32::new(0),
            unfinished: AtomicU32::new(0),
            leaving: AtomicBool::new(false),
            newborn: Lock::new(&NEWBORN, None),
        })
    }

    fn begin(self: &Arc<Self>) -> Arc<Stream> {
        let pulse = &self.line.pulse;
        if self.open.fetch_add(1, Ordering::AcqRel) == 0 {
            pulse.take(Stance::Busy, &self.line.desk.clock);
            pulse.read.clear();
        }
        let stream = Stream::new(self.clone());
        *self.newborn.lock() = Some(stream.clone());
        stream
    }

    /// Sets the time that fits what is going on. A race with a new request sets it for nothing; see [`Streams::late`].
    fn settle(&self) {
        if self.open.load(Ordering::Acquire) > 0 {
            return;
        }
        let (pulse, clock) = (&self.line.pulse, &self.line.desk.clock);
        let patience = &self.line.patience;
        if self.unfinished.load(Ordering::Acquire) > 0 {
            return pulse.read.set(clock, patience.write);
        }
        pulse.take(Stance::Resting, clock);
        let leaving = self.leaving.load(Ordering::Relaxed);
        pulse.read.set(
            clock,
            if leaving {
                patience.write
            } else {
                patience.idle
            },
        );
    }

    fn late(&self) -> Late {
        if self.open.load(Ordering::Acquire) > 0 {
            self.line.pulse.read.clear();
            return Late::Not;
        }
        match self.unfinished.load(Ordering::Acquire) {
            0 => Late::Idle,
            _ => Late::Stalled,
        }
    }
}

/// Bytes that may come unread on a connection: each stream has its own, and none waits for another's to be read.
fn connection_window(streams: u32) -> u32 {
    /// No window is larger.
    const MOST: u32 = (1 << 31) - 1;
    let all = streams.saturating_mul(STREAM_WINDOW);
    all.clamp(LEAST_WINDOW, MOST)
}

/// Serves a connection to its end.
pub(crate) async fn serve<S: Service>(house: Arc<House<S>>, settings: &DoorSettings, wire: Wire) {
    let streams = wire.streams().clone();
    let rooms = streams::Rooms::new(house.streams.clone(), streams.clone());
    let outlet = wire.clone();
    let guests = streams.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (house, stream) = (house.clone(), guests.begin());
        let mut request = Some(request.map(|body| Upload::streamed(body, stream.line())));
        // Boxed here: on its way into its task it would be copied a dozen times, and it is large.
        Box::pin(async move { Ok::<_, Infallible>(answer(&house, &mut request, stream).await) })
    });
    let connection = http2::Builder::new(rooms)
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(settings.timeouts.head)
        .max_concurrent_streams(settings.streams_per_connection)
        .max_pending_accept_reset_streams(PENDING_RESETS)
        .max_local_error_reset_streams(LOCAL_RESETS)
        .max_header_list_size(settings.header_list_bytes)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(connection_window(settings.streams_per_connection))
        .max_send_buf_size(SEND_BUFFER)
        .serve_connection(TokioIo::new(wire), service);
    let mut connection = Box::pin(connection);
    let (line, pulse) = (&streams.line, &streams.line.pulse);
    let ended = poll_fn(|cx| {
        pulse.belongs_to(cx.waker());
        loop {
            let polled = connection.as_mut().poll(cx);
            let sent = outlet.poll_send(cx);
            if let Poll::Ready(ended) = polled {
                return Poll::Ready(ended.map_err(Broken::Codec));
            }
            if let Poll::Ready(Err(error)) = sent {
                return Poll::Ready(Err(Broken::Socket(error)));
            }
            let leaving = streams.leaving.load(Ordering::Relaxed);
            let mut leave = false;
            match pulse.ordered() {
                Order::Stay => {}
                // One that has said nothing is owed no answer.
                Order::Leave if pulse.stance() != Stance::Fresh => leave = !leaving,
                Order::Leave | Order::Cut => return Poll::Ready(Ok(())),
            }
            if pulse.part.passed() {
                line.desk.timeouts.read.inc();
                return Poll::Ready(Ok(()));
            }
            if pulse.read.passed() {
                match streams.late() {
                    Late::Not => {}
                    Late::Idle if !leaving && pulse.stance() == Stance::Resting => leave = true,
                    Late::Idle => {
                        line.desk.timeouts.read.inc();
                        return Poll::Ready(Ok(()));
                    }
                    Late::Stalled if line.is_slow() => streams.settle(),
                    Late::Stalled => {
                        line.desk.timeouts.write.inc();
                        return Poll::Ready(Ok(()));
                    }
                }
            }
            if !leave {
                return Poll::Pending;
            }
            streams.leaving.store(true, Ordering::Relaxed);
            connection.as_mut().graceful_shutdown();
            streams.settle();
        }
    });
    if let Err(error) = ended.await {
        tracing::debug!(peer = %line.visit.peer, %error, "connection ended early");
    }
}

async fn answer<S: Service>(
    house: &House<S>,
    request: &mut Option<Request<Upload>>,
    stream: Arc<Stream>,
) -> Response<Reply<S::Body>> {
    let line = stream.line().clone();
    let handover = Handover(stream);
    match house.call(request, &line.visit).await {
        Ok(answer) => Reply::service(answer, handover),
        Err(Panicked) => Reply::own(house.service.refuse(Fault::Panic, &line.visit), handover),
    }
}
