//! One connection as its parts see it: the socket's side, the request's side and the clockwork share this.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, ready};

use kernel::metrics::{Counter, Registry};
use kernel::serve::IO_TIMEOUTS;

use crate::pulse::{Clockwork, Order, SLOW_TICKS, TICK, Watched, ticks};
use crate::service::Visit;
use crate::settings::DoorSettings;
use crate::socket::{Socket, poll_sip};
use crate::taken::Taken;

#[cfg(test)]
pub(crate) mod nobody;

/// Counts what ran out.
#[derive(Clone)]
pub(crate) struct TimeoutCounters {
    pub(crate) read: Counter,
    pub(crate) write: Counter,
    pub(crate) handshake: Counter,
}

impl TimeoutCounters {
    pub(crate) fn new(registry: &Registry) -> Self {
        let op = |op| registry.counter(&IO_TIMEOUTS, &[op]);
        Self {
            read: op("read"),
            write: op("write"),
            handshake: op("handshake"),
        }
    }
}

/// How long a peer may take, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) head: u32,
    pub(crate) body: u32,
    pub(crate) write: u32,
    pub(crate) idle: u32,
    /// How long a resting connection keeps its buffers.
    pub(crate) nap: u32,
    /// Bytes a body has to bring while its patience lasts.
    pub(crate) body_bytes: u64,
    /// Bytes a peer has to take while the patience with its taking lasts.
    pub(crate) write_bytes: u64,
}

/// A resting connection gives up its buffers after so many ticks. What it gives up the allocator does not give back to
/// the system: memory follows the number that are awake at once, so this is short.
const NAP: u32 = 2;

impl Patience {
    pub(crate) fn new(settings: &DoorSettings) -> Self {
        let times = &settings.timeouts;
        let (idle, body, write) = (ticks(times.idle), ticks(times.body), ticks(times.write));
        let per_tick = u64::from(settings.body_bytes_per_second) * TICK.as_millis() as u64 / 1000;
        Self {
            head: ticks(times.head),
            body,
            write,
            idle,
            nap: NAP.min(idle / 2),
            body_bytes: per_tick * u64::from(body),
            write_bytes: (per_tick * u64::from(write)).max(1),
        }
    }
}

/// What all connections of a door share, whatever service is behind it.
pub(crate) struct Desk {
    pub(crate) clock: Arc<Clockwork>,
    pub(crate) timeouts: TimeoutCounters,
    /// Connections cut off for a flood of frames.
    pub(crate) floods: Counter,
}

/// What the parts of a connection share.
pub(crate) struct Line {
    pub(crate) desk: Arc<Desk>,
    pub(crate) pulse: Watched,
    pub(crate) patience: Patience,
    pub(crate) visit: Visit,
    pub(crate) taken: Taken,
    /// The tick at which a write last went on that had had to wait.
    pub(crate) waited: AtomicU32,
}

/// How long and how much is read of what nobody wants, so that what was said last is not lost with a reset.
const LINGER_TICKS: u32 = 10;
pub(crate) const LINGER_BYTES: usize = 4 << 20;

impl Line {
    /// Reads what the peer of an ended connection still says: to close at once would take from it what it has not read
    /// yet.
    pub(crate) async fn linger(&self, socket: &mut Socket) {
        self.pulse.read.set(&self.desk.clock, LINGER_TICKS);
        let mut left = LINGER_BYTES;
        poll_fn(|cx| {
            self.pulse.belongs_to(cx.waker());
            while left > 0 && !self.pulse.read.passed() && self.pulse.ordered() != Order::Cut {
                match ready!(poll_sip(socket, cx)) {
                    Ok(sip) if !sip.is_empty() => left = left.saturating_sub(sip.len()),
                    _ => break,
                }
            }
            Poll::Ready(())
        })
        .await;
    }

    /// What came of writing: whoever takes something has all the time again for the next piece.
    pub(crate) fn written<T>(
        &self,
        polled: Poll<io::Result<T>>,
        cx: &Context<'_>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.write_goes_on();
            return polled;
        }
        // An upgrade may have carried the socket to another task.
        self.pulse.belongs_to(cx.waker());
        self.write_waits()
    }

    pub(crate) fn write_goes_on(&self) {
        if self.pulse.write.is_set() {
            self.waited.store(self.desk.clock.now(), Ordering::Relaxed);
            self.pulse.write.clear();
        }
    }

    /// Whether it is the line that is slow: writes wait for the peer, or did while its patience lasted. What stands
    /// behind them on the same line is not to blame, and the line has a clock of its own.
    pub(crate) fn is_slow(&self) -> bool {
        let waited = self.waited.load(Ordering::Relaxed);
        let since = self.desk.clock.now().saturating_sub(waited);
        self.pulse.write.is_set() || (waited > 0 && since <= self.patience.write)
    }

    /// Whether what is here of an answer is still on its way after a second, and again after each second more.
    pub(crate) fn is_kept_waiting(&self, still: bool) -> bool {
        let (part, clock) = (&self.pulse.part, &self.desk.clock);
        if !still {
            part.clear();
            return false;
        }
        let long = part.passed();
        if long || !part.is_set() {
            part.set(clock, SLOW_TICKS);
        }
        long
    }

    /// A write is waiting for the peer.
    pub(crate) fn write_waits<T>(&self) -> Poll<io::Result<T>> {
        let write = &self.pulse.write;
        if write.passed() && self.taken.since() >= self.patience.write_bytes {
            write.set(&self.desk.clock, self.patience.write);
        }
        if !write.is_set() {
            self.taken.since();
            write.set(&self.desk.clock, self.patience.write);
        }
        if !write.passed() {
            return Poll::Pending;
        }
        self.desk.timeouts.write.inc();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}
