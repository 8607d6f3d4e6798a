//! A stream with the timeouts hyper does not have: whole head, rest between requests, progress of writes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::clock;
use crate::metrics::{Counter, Kind, MetricSpec, Registry};

/// Timeouts by operation.
pub static IO_TIMEOUTS: MetricSpec = MetricSpec {
    name: "io_timeouts_total",
    kind: Kind::Counter,
    labels: &["op"],
    help: "I/O operations that took too long: read, write, connect, handshake, rpc",
};

/// Where a connection stands between requests; written by the handler and the stream, one task. The lowest two bits,
/// and above them how many requests there have been.
#[derive(Clone, Debug, Default)]
pub(super) struct Posture(Arc<AtomicU32>);

const FRESH: u32 = 0;
const HEAD: u32 = 1;
const BUSY: u32 = 2;
const RESTING: u32 = 3;
const STANCE: u32 = 3;

impl Posture {
    /// A request is being handled.
    pub(super) fn busy(&self) {
        let requests = self.requests().wrapping_add(STANCE + 1);
        self.0.store(requests | BUSY, Ordering::Release);
    }

    /// The answer has been handed over.
    pub(super) fn resting(&self) {
        self.0.store(self.requests() | RESTING, Ordering::Release);
    }

    /// Nothing has been said yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.get() == FRESH
    }

    /// In the middle of this request head; no other of the connection is the same.
    pub(super) fn head(&self) -> Option<u32> {
        (self.get() == HEAD).then(|| self.requests())
    }

    /// Between two requests.
    pub(super) fn is_resting(&self) -> bool {
        self.get() == RESTING
    }

    fn begin_head(&self) {
        self.0.store(self.requests() | HEAD, Ordering::Release);
    }

    fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire) & STANCE
    }

    fn requests(&self) -> u32 {
        self.0.load(Ordering::Acquire) & !STANCE
    }
}

/// How long a peer may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a whole request head, from its first byte; and for the first byte of a new connection.
    pub head: Duration,
    /// Between requests.
    pub idle: Duration,
    /// Between two pieces of an answer.
    pub write: Duration,
}

/// Counts what ran out.
#[derive(Clone)]
pub(super) struct TimeoutCounters {
    read: Counter,
    write: Counter,
}

impl TimeoutCounters {
    pub(super) fn new(registry: &Registry) -> Self {
        let op = |op| registry.counter(&IO_TIMEOUTS, &[op]);
        Self {
            read: op("read"),
            write: op("write"),
        }
    }
}

pub(super) struct Timed<S> {
    stream: S,
    posture: Posture,
    patience: Patience,
    counters: TimeoutCounters,
    reading: Timer,
    /// The posture the read timer was set for.
    timed_as: u32,
    writing: Timer,
    expired: bool,
}

impl<S> Timed<S> {
    pub(super) fn new(
        stream: S,
        posture: Posture,
        patience: Patience,
        counters: TimeoutCounters,
    ) -> Self {
        let (reading, writing) = (Timer::default(), Timer::default());
        Self {
            stream,
            posture,
            patience,
            counters,
            reading,
            timed_as: BUSY,
            writing,
            expired: false,
        }
    }

    /// The peer owes us bytes: until when depends on what it is in the middle of.
    fn poll_read_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let posture = self.posture.get();
        if posture == BUSY {
            self.timed_as = BUSY;
            return Poll::Pending;
        }
        if self.timed_as != posture {
            self.timed_as = posture;
            let patience = if posture == RESTING {
                self.patience.idle
            } else {
                self.patience.head
            };
            self.reading.set(clock::now() + patience);
        }
        ready!(self.reading.poll(cx));
        // Asked again on the way out, by a flush: still one timeout.
        if !std::mem::replace(&mut self.expired, true) {
            self.counters.read.inc();
        }
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_write_patience<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if !self.writing.is_set() {
            self.writing.set(clock::now() + self.patience.write);
        }
        ready!(self.writing.poll(cx));
        if !std::mem::replace(&mut self.expired, true) {
            self.counters.write.inc();
        }
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.stream).poll_read(cx, buf) {
            Poll::Pending => this.poll_read_patience(cx),
            ready => {
                // The first bytes of a head start its clock; later ones do not prolong it.
                if matches!(this.posture.get(), FRESH | RESTING) {
                    this.posture.begin_head();
                }
                ready
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        match Pin::new(&mut this.stream).poll_write(cx, buf) {
            Poll::Pending => this.poll_write_patience(cx),
            Poll::Ready(written) => this.progressed(written),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.stream).poll_flush(cx) {
            Poll::Pending => this.poll_write_patience(cx),
            // Hyper's last act of a turn: it may not read again before it is woken, so the rest is timed from here.
            Poll::Ready(Ok(())) => match this.poll_read_patience(cx) {
                Poll::Ready(expired) => Poll::Ready(expired),
                Poll::Pending => Poll::Ready(Ok(())),
            },
            failed => failed,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.stream).poll_shutdown(cx) {
            Poll::Pending => this.poll_write_patience(cx),
            ready => ready,
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        match Pin::new(&mut this.stream).poll_write_vectored(cx, bufs) {
            Poll::Pending => this.poll_write_patience(cx),
            Poll::Ready(written) => this.progressed(written),
        }
    }
}

impl<S> Timed<S> {
    /// Only bytes taken by the peer's side are progress; a flush of nothing is not.
    fn progressed(&mut self, written: io::Result<usize>) -> Poll<io::Result<usize>> {
        if written.as_ref().is_ok_and(|count| *count > 0) {
            self.writing.unset();
            // A peer that takes its answer is not idle: rest begins after the last piece.
            self.timed_as = BUSY;
        }
        Poll::Ready(written)
    }
}

/// A deadline that moves often and fires rarely: the runtime's timer is touched only when waited on.
#[derive(Default)]
struct Timer {
    at: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    fn set(&mut self, at: Instant) {
        self.at = Some(at);
    }

    fn unset(&mut self) {
        self.at = None;
    }

    fn is_set(&self) -> bool {
        self.at.is_some()
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at else {
            return Poll::Pending;
        };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        sleep.as_mut().poll(cx)
    }
}
