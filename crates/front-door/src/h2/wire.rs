//! The socket of an HTTP/2 connection as the codec sees it: timed, and counted frame by frame.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use kernel::lock::{Lock, LockSpec};
use kernel::serve::Stay;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Streams;
use super::batch::Batch;
use super::ledger::Ledger;
use super::turn::Turn;
use crate::budget::{Budget, Part};
use crate::frames::{Unfinished, Walker};
use crate::line::Line;
use crate::pulse::Stance;
use crate::socket::{Socket, pour};

/// The socket of an HTTP/2 connection.
pub(crate) static WIRE: LockSpec = LockSpec {
    name: "door_wire",
    level: 43,
    doc: "the socket of an HTTP/2 connection: the codec reads and writes, its task sends; one task uses it",
};

/// One of the two ends at which a connection's own task holds its socket: the codec's, and that of who polls the
/// codec and then sends what it has written, all at once.
#[derive(Clone)]
pub(crate) struct Wire {
    streams: Arc<Streams>,
    inside: Arc<Lock<Inside>>,
}

struct Inside {
    socket: Socket,
    streams: Arc<Streams>,
    /// Read, and not passed on yet.
    held: Bytes,
    batch: Batch,
    incoming: Walker,
    outgoing: Walker,
    budget: Budget,
    turn: Turn,
    ledger: Ledger,
    /// Given back when the socket is dropped.
    _stay: Stay,
}

impl Wire {
    /// `held` is what has been read already.
    pub(crate) fn new(socket: Socket, held: Bytes, line: Arc<Line>, stay: Stay) -> Self {
        let budget = Budget::new(line.desk.clock.now());
        let streams = Streams::new(line);
        let inside = Inside {
            socket,
            streams: streams.clone(),
            held,
            batch: Batch::default(),
            incoming: Walker::incoming(),
            outgoing: Walker::outgoing(),
            budget,
            turn: Turn::default(),
            ledger: Ledger::default(),
            _stay: stay,
        };
        Self {
            streams,
            inside: Arc::new(Lock::new(&WIRE, inside)),
        }
    }

    pub(crate) fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    /// Sends what the codec has written.
    pub(crate) fn poll_send(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inside.lock().poll_send(cx)
    }
}

impl Inside {
    /// Takes in what there is room for; otherwise sends, and takes what goes out with the rest.
    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            if let Some(taken) = self.batch.take_in(bufs) {
                return Poll::Ready(Ok(taken));
            }
            let polled = self.batch.poll_write_with(&mut self.socket, cx, bufs);
            let written = ready!(self.wrote(cx, polled, bufs))?;
            if written > 0 {
                return Poll::Ready(Ok(written));
            }
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.batch.is_waiting() {
            let polled = self.batch.poll_write_with(&mut self.socket, cx, &[]);
            ready!(self.wrote(cx, polled, &[]))?;
        }
        if !self.batch.is_unflushed() {
            return Poll::Ready(Ok(()));
        }
        match Pin::new(&mut self.socket).poll_flush(cx) {
            Poll::Pending => self.streams.line.write_waits(),
            ready => {
                self.batch.flushed();
                ready
            }
        }
    }

    /// Looks at what came; an error if it is more than anyone needs to say.
    fn came(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (line, was) = (&self.streams.line, self.incoming.unfinished());
        let (now, mut affordable, mut any) = (line.desk.clock.now(), true, false);
        self.incoming.walk(bytes, |frame, initial_window| {
            any = true;
            let part = self.ledger.came(frame, initial_window);
            self.turn.came(part == Part::Opens);
            affordable &= self.budget.pay(frame, part, now);
        });
        if !affordable {
            line.desk.floods.inc();
            tracing::debug!(peer = %line.visit.peer, "cut off for a flood of frames");
            return Err(io::Error::other("a flood of frames"));
        }
        self.time_part(was, any);
        if any {
            self.note_unfinished();
            if self.streams.line.pulse.stance() == Stance::Fresh {
                self.streams.settle();
            }
        }
        Ok(())
    }

    /// What has begun has to end in time. Pieces of bodies have a pace of their own, as long as they come at all.
    fn time_part(&self, was: Unfinished, any: bool) {
        let line = &self.streams.line;
        match self.incoming.unfinished() {
            Unfinished::Nothing => line.pulse.part.clear(),
            Unfinished::Data => line.pulse.part.set(&line.desk.clock, line.patience.body),
            Unfinished::Other if any && was != Unfinished::Other => {
                line.pulse.part.set(&line.desk.clock, line.patience.head);
            }
            Unfinished::Other => line
                .pulse
                .part
                .set_if_none(&line.desk.clock, line.patience.head),
        }
    }

    fn note_unfinished(&self) {
        self.streams
            .unfinished
            .store(self.ledger.len(), Ordering::Release);
    }

    /// What came of writing; how many of the bytes behind the batch have gone out.
    fn wrote(
        &mut self,
        cx: &Context<'_>,
        polled: Poll<io::Result<usize>>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Poll::Ready(written) = polled else {
            self.streams.line.pulse.belongs_to(cx.waker());
            return self.streams.line.write_waits();
        };
        let total = written?;
        if total == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        let behind = self.batch.sent(total, |bytes| {
            self.outgoing.walk(bytes, |frame, _| {
                self.ledger.went(frame);
                self.budget.went(frame);
            });
        });
        let mut left = behind;
        for buf in bufs {
            let part = &buf[..left.min(buf.len())];
            left -= part.len();
            self.outgoing.walk(part, |frame, _| {
                self.ledger.went(frame);
                self.budget.went(frame);
            });
        }
        self.budget.wrote(total);
        self.streams.line.write_goes_on();
        // A peer that takes its answers is neither idle nor stalled. What we say by ourselves is no answer.
        if self.streams.unfinished.load(Ordering::Relaxed) > 0 {
            self.note_unfinished();
            self.streams.settle();
        }
        Poll::Ready(Ok(behind))
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if self.held.is_empty() {
            ready!(self.turn.poll_read(&mut self.socket, cx, buf))?;
        } else {
            let length = self.held.len().min(buf.remaining());
            pour(&mut self.held, length, buf);
        }
        self.came(&buf.filled()[before..])?;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(cx))?;
        match Pin::new(&mut self.socket).poll_shutdown(cx) {
            Poll::Pending => self.streams.line.write_waits(),
            ready => ready,
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.inside.lock().poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.inside.lock().poll_write(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inside.lock().poll_write(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// The codec flushes after each piece of a body; [`Wire::poll_send`] does when it has written them all.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inside.lock().poll_shutdown(cx)
    }
}
