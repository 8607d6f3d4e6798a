//! The thread that writes the log, outside the runtime: it may block for as long as its sink does.

use std::io::{self, Write};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use tokio::sync::oneshot;

use super::line::{Line, notice};
use super::{Format, LINES};
use crate::deadline::Deadline;
use crate::metrics::{Counter, Kind, MetricSpec};
use crate::queue::{self, Receiver, Sender};
use crate::{Kernel, clock, limits};

/// Lines the sink did not take.
pub static WRITE_ERRORS: MetricSpec = MetricSpec {
    name: "log_write_errors_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Log lines lost because stderr refused them",
};

/// The owner of the thread.
pub(super) struct Writer {
    sender: Sender<Line>,
    thread: JoinHandle<()>,
    /// Never told anything: its other end is dropped when the thread ends, by a panic too.
    ended: oneshot::Receiver<()>,
}

impl Writer {
    pub(super) fn start(
        sender: Sender<Line>,
        receiver: Receiver<Line>,
        format: Format,
        sink: impl Write + Send + 'static,
        kernel: &Kernel,
    ) -> io::Result<Self> {
        let dropped = kernel.registry.counter(&queue::DROPPED, &[LINES.name]);
        let pen = Pen {
            sink,
            burst: Vec::new(),
            lines: 0,
            format,
            told: dropped.get(),
            dropped,
            errors: kernel.registry.counter(&WRITE_ERRORS, &[]),
        };
        let (end, ended) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("log-writer".to_owned())
            .spawn(move || {
                let _end = end;
                let never = Deadline::after(clock::now(), Duration::MAX);
                block_until(never, pen.write_all(receiver));
            })?;
        Ok(Self {
            sender,
            thread,
            ended,
        })
    }

    /// A thread that is stuck at `within` is left behind: it dies with the process.
    pub(super) fn close(self, within: Duration) -> bool {
        self.sender.close();
        let deadline = Deadline::after(clock::now(), within);
        block_until(deadline, self.ended).is_some() && self.thread.join().is_ok()
    }
}

/// Bytes that are written at once.
const BURST_BYTES: usize = 32 * 1024;

struct Pen<W> {
    sink: W,
    /// Lines not written yet, and how many.
    burst: Vec<u8>,
    lines: u64,
    format: Format,
    dropped: Counter,
    /// How many of the dropped lines the log has told of.
    told: u64,
    errors: Counter,
}

impl<W: Write> Pen<W> {
    async fn write_all(mut self, lines: Receiver<Line>) {
        while let Some(line) = lines.recv().await {
            self.gather(&line);
            // A burst ends when the queue is empty, or by itself after a queueful: then it is time to tell.
            for _ in 1..limits::LOG_LINES {
                let Some(line) = lines.try_recv() else { break };
                self.gather(&line);
            }
            self.write();
            self.tell_dropped();
            pause();
        }
    }

    /// Lines that come together are written together: one call to the system for each would be the dearest part.
    fn gather(&mut self, line: &[u8]) {
        self.burst.extend_from_slice(line);
        self.lines += 1;
        if self.burst.len() >= BURST_BYTES {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.sink.write_all(&self.burst).is_err() {
            self.errors.inc_by(self.lines);
        }
        self.burst.clear();
        self.lines = 0;
    }

    fn tell_dropped(&mut self) {
        let dropped = self.dropped.get();
        let news = dropped - self.told;
        if news > 0 {
            self.told = dropped;
            let line = notice(self.format, &format!("{news} log lines dropped"));
            self.gather(&line);
            self.write();
        }
    }
}

/// Between two bursts. Who waits is woken by the next line, which costs its author a call to the system and both a
/// change of threads; where lines come by the thousand a second, that is more than all of the rest.
const PAUSE: Duration = Duration::from_millis(2);

#[expect(
    clippy::disallowed_methods,
    reason = "the log's own thread, where waiting is allowed"
)]
fn pause() {
    thread::sleep(PAUSE);
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs `work` on this thread, without a runtime; `None` when the deadline passes first.
fn block_until<F: Future>(deadline: Deadline, work: F) -> Option<F::Output> {
    let mut work = pin!(work);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return Some(done);
        }
        let left = deadline.remaining(clock::now());
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}
