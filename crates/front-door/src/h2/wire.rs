//! The socket of an HTTP/2 connection as the codec sees it: timed, and counted frame by frame.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use kernel::serve::Stay;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Streams;
use crate::budget::Budget;
use crate::frames::{Frame, HEADERS, RST_STREAM, Unfinished, Walker};
use crate::line::Line;
use crate::pulse::Stance;
use crate::socket::{Socket, pour};

pub(crate) struct Wire {
    socket: Socket,
    streams: Arc<Streams>,
    /// Read, and not passed on yet.
    held: Bytes,
    incoming: Walker,
    outgoing: Walker,
    budget: Budget,
    ledger: Ledger,
    /// Given back when the socket is dropped.
    _stay: Stay,
}

/// The streams whose answers have not gone out, as the bytes say: the codec keeps what a peer does not take, after
/// everyone else has forgotten it.
#[derive(Default)]
struct Ledger {
    unfinished: Vec<u32>,
    last: u32,
}

impl Ledger {
    fn came(&mut self, frame: Frame) {
        if frame.kind == HEADERS && frame.stream > self.last {
            self.last = frame.stream;
            self.unfinished.push(frame.stream);
        } else if frame.kind == RST_STREAM {
            self.close(frame.stream);
        }
    }

    fn went(&mut self, frame: Frame) {
        if frame.kind == RST_STREAM || frame.ends_stream() {
            self.close(frame.stream);
        }
    }

    fn close(&mut self, stream: u32) {
        if let Some(at) = self.unfinished.iter().position(|open| *open == stream) {
            self.unfinished.swap_remove(at);
        }
    }

    fn len(&self) -> u32 {
        self.unfinished.len() as u32
    }
}

impl Wire {
    /// `held` is what has been read already.
    pub(crate) fn new(socket: Socket, held: Bytes, line: Arc<Line>, stay: Stay) -> Self {
        let budget = Budget::new(line.desk.clock.now());
        Self {
            socket,
            streams: Streams::new(line),
            held,
            incoming: Walker::incoming(),
            outgoing: Walker::outgoing(),
            budget,
            ledger: Ledger::default(),
            _stay: stay,
        }
    }

    pub(crate) fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    /// Looks at what came; an error if it is more than anyone needs to say.
    fn came(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (line, was) = (&self.streams.line, self.incoming.unfinished());
        let (now, mut affordable, mut any) = (line.desk.clock.now(), true, false);
        self.incoming.walk(bytes, |frame| {
            any = true;
            affordable &= self.budget.pay(frame, now);
            self.ledger.came(frame);
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

    fn wrote<'a>(
        &mut self,
        cx: &Context<'_>,
        polled: Poll<io::Result<usize>>,
        bufs: impl Iterator<Item = &'a [u8]>,
    ) -> Poll<io::Result<usize>> {
        let Poll::Ready(written) = polled else {
            self.streams.line.pulse.belongs_to(cx.waker());
            return self.streams.line.write_waits();
        };
        let mut left = written?;
        let total = left;
        for buf in bufs {
            let part = &buf[..left.min(buf.len())];
            left -= part.len();
            self.outgoing.walk(part, |frame| self.ledger.went(frame));
        }
        self.budget.wrote(total);
        self.streams.line.pulse.write.clear();
        // A peer that takes its answers is neither idle nor stalled. What we say by ourselves is no answer.
        if self.streams.unfinished.load(Ordering::Relaxed) > 0 {
            self.note_unfinished();
            self.streams.settle();
        }
        Poll::Ready(Ok(total))
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        if this.held.is_empty() {
            match Pin::new(&mut this.socket).poll_read(cx, buf) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(read) => read?,
            }
        } else {
            let length = this.held.len().min(buf.remaining());
            pour(&mut this.held, length, buf);
        }
        this.came(&buf.filled()[before..])?;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.socket).poll_write(cx, buf);
        this.wrote(cx, polled, std::iter::once(buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.socket).poll_write_vectored(cx, bufs);
        this.wrote(cx, polled, bufs.iter().map(|buf| &**buf))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.socket).poll_flush(cx) {
            Poll::Pending => this.streams.line.write_waits(),
            ready => ready,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.socket).poll_shutdown(cx) {
            Poll::Pending => this.streams.line.write_waits(),
            ready => ready,
        }
    }
}
