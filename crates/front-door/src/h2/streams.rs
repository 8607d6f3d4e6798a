//! The tasks of a connection's streams, each with the time its peer may leave an answer untaken.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper::rt::Executor;
use kernel::tasks::{Spawner, TaskKind};
use pin_project_lite::pin_project;

use super::Streams;
use crate::line::Line;
use crate::pulse::{Stance, Watched};

/// The task a request over HTTP/2 lives in.
pub(crate) static STREAM_TASK: TaskKind = TaskKind {
    name: "stream",
    doc: "one HTTP/2 request of a door",
};

/// One request and its answer.
pub(crate) struct Stream {
    streams: Arc<Streams>,
    /// A piece of the answer has been handed over, and no other was asked for since.
    waiting: AtomicBool,
    /// Made when the peer first lets an answer wait.
    pulse: OnceLock<Watched>,
}

impl Stream {
    pub(super) fn new(streams: Arc<Streams>) -> Arc<Self> {
        Arc::new(Self {
            streams,
            waiting: AtomicBool::new(false),
            pulse: OnceLock::new(),
        })
    }

    pub(crate) fn line(&self) -> &Arc<Line> {
        &self.streams.line
    }

    /// A piece of the answer has been handed over.
    pub(crate) fn waits(&self) {
        self.waiting.store(true, Ordering::Relaxed);
    }

    /// The next piece is asked for.
    pub(crate) fn moves(&self) {
        self.waiting.store(false, Ordering::Relaxed);
        if let Some(pulse) = self.pulse.get() {
            pulse.write.clear();
        }
    }

    /// The whole answer has been handed over, or nobody wants it any more.
    pub(crate) fn handed_over(&self) {
        if self.streams.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.streams.settle();
        }
    }

    /// Whether the peer has left the answer untaken for too long.
    fn is_stalled(&self, cx: &Context<'_>) -> bool {
        if !self.waiting.load(Ordering::Relaxed) {
            return false;
        }
        let line = self.line();
        let clock = &line.desk.clock;
        let pulse = self.pulse.get_or_init(|| clock.watch(Stance::Busy));
        pulse.belongs_to(cx.waker());
        if pulse.write.passed() {
            if line.is_slow() {
                pulse.write.set(clock, line.patience.write);
                return false;
            }
            line.desk.timeouts.write.inc();
            return true;
        }
        pulse.write.set_if_none(clock, line.patience.write);
        false
    }
}

/// Gives the streams of one connection their tasks.
#[derive(Clone)]
pub(super) struct Rooms {
    spawner: Spawner,
    streams: Arc<Streams>,
}

impl Rooms {
    pub(super) fn new(spawner: Spawner, streams: Arc<Streams>) -> Self {
        Self { spawner, streams }
    }
}

impl<F> Executor<F> for Rooms
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, work: F) {
        let stream = self.streams.newborn.lock().take();
        self.spawner.spawn(Room { work, stream });
    }
}

pin_project! {
    /// A stream's task. Dropping its work resets the stream, and no other.
    struct Room<F> {
        #[pin]
        work: F,
        stream: Option<Arc<Stream>>,
    }
}

impl<F: Future<Output = ()>> Future for Room<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if this.work.poll(cx).is_ready() {
            return Poll::Ready(());
        }
        match this.stream {
            Some(stream) if stream.is_stalled(cx) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }
}
