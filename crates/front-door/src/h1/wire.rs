//! The socket of an HTTP/1 connection as the parser sees it: guarded, timed, and never refusing in the parser's words.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use kernel::serve::Stay;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Talk;
use crate::canned;
use crate::head::HeadGuard;
use crate::line::Line;
use crate::pulse::{Order, Stance};
use crate::socket::{Socket, poll_sip, pour};

/// How long someone who has shaken hands may take to ask, while the door closes.
const FIRST_WORD_TICKS: u32 = 2;
/// How long and how much is read of a body nobody wants, so that the answer to it is not lost with a reset.
const LINGER_TICKS: u32 = 10;
const LINGER_BYTES: usize = 4 << 20;

pub(crate) struct Wire {
    socket: Socket,
    talk: Arc<Talk>,
    guard: HeadGuard,
    /// Read, and not passed on yet.
    held: Bytes,
    head_bytes: usize,
    /// What is being written instead of the parser's own refusal.
    refusal: Option<Bytes>,
    refused: bool,
    /// Told to be quick, since the door closes.
    hurried: bool,
    /// Given back when the socket is dropped, which an upgrade may carry far away.
    _stay: Stay,
}

impl Wire {
    /// `held` is what has been read already.
    pub(crate) fn new(
        socket: Socket,
        held: Bytes,
        line: Arc<Line>,
        head_bytes: usize,
        stay: Stay,
    ) -> Self {
        Self {
            socket,
            talk: Talk::new(line),
            guard: HeadGuard::new(),
            held,
            // The parser takes no less.
            head_bytes: head_bytes.max(8192),
            refusal: None,
            refused: false,
            hurried: false,
            _stay: stay,
        }
    }

    pub(crate) fn talk(&self) -> &Arc<Talk> {
        &self.talk
    }

    pub(crate) fn head_bytes(&self) -> usize {
        self.head_bytes
    }

    /// Waits for the first bytes of a request with nothing set up for them; `false` if it is over instead.
    pub(crate) async fn wakes(&mut self) -> bool {
        poll_fn(|cx| self.poll_wakes(cx)).await
    }

    fn poll_wakes(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let line = self.talk.line.clone();
        line.pulse.belongs_to(cx.waker());
        if !self.held.is_empty() {
            return Poll::Ready(true);
        }
        match poll_sip(&mut self.socket, cx) {
            Poll::Ready(Ok(sip)) if !sip.is_empty() => {
                self.held = sip;
                Poll::Ready(true)
            }
            Poll::Ready(_) => Poll::Ready(false),
            Poll::Pending if self.is_to_leave() => Poll::Ready(false),
            Poll::Pending if line.pulse.read.passed() => {
                line.desk.timeouts.read.inc();
                Poll::Ready(false)
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Whoever has just shaken hands is about to ask for something, and gets a moment to.
    fn is_to_leave(&mut self) -> bool {
        let line = &self.talk.line;
        match line.pulse.ordered() {
            Order::Stay => return false,
            Order::Cut => return true,
            Order::Leave => {}
        }
        let shaken = line.visit.tls.is_some() && line.pulse.stance() == Stance::Fresh;
        if shaken && !std::mem::replace(&mut self.hurried, true) {
            line.pulse.read.set(&line.desk.clock, FIRST_WORD_TICKS);
        }
        !shaken
    }

    /// The parser is done, but the peer may not be: to close now would reset what it has not read yet.
    pub(crate) async fn lingers(mut self, orderly: bool) {
        let unread = orderly && !self.guard.is_between_requests();
        if !self.refused && !unread {
            return;
        }
        let line = self.talk.line.clone();
        line.pulse.read.set(&line.desk.clock, LINGER_TICKS);
        let mut left = LINGER_BYTES;
        poll_fn(|cx| {
            line.pulse.belongs_to(cx.waker());
            while left > 0 && !line.pulse.read.passed() && line.pulse.ordered() != Order::Cut {
                match ready!(poll_sip(&mut self.socket, cx)) {
                    Ok(sip) if !sip.is_empty() => left = left.saturating_sub(sip.len()),
                    _ => break,
                }
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Nothing has come: whether that is too late depends on what the connection is in the middle of.
    fn read_waits(&self) -> Poll<io::Result<()>> {
        let line = &self.talk.line;
        let late = line.pulse.read.passed() && line.pulse.stance() != Stance::Busy;
        // Time for a nap is no timeout.
        if !late || self.talk.is_tired() {
            return Poll::Pending;
        }
        line.desk.timeouts.read.inc();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// So many bytes may go on to the parser.
    fn passed(&self) {
        let talk = &self.talk;
        talk.dirty.store(self.guard.is_dirty(), Ordering::Relaxed);
        if !self.guard.holds() && !self.guard.is_inside_head() {
            return;
        }
        match talk.line.pulse.stance() {
            // The first bytes of a head start its clock; later ones do not prolong it.
            Stance::Fresh | Stance::Resting => talk.head_begins(),
            Stance::Busy => talk.next_begun.store(true, Ordering::Relaxed),
            Stance::Head => {}
        }
    }

    fn written(
        &mut self,
        cx: &Context<'_>,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let line = &self.talk.line;
        match polled {
            Poll::Pending => {
                // An upgrade may have carried the socket to another task.
                line.pulse.belongs_to(cx.waker());
                line.write_waits()
            }
            Poll::Ready(written) => {
                line.pulse.write.clear();
                // A peer that takes its answer is not idle: rest begins after the last piece.
                if line.pulse.stance() == Stance::Resting {
                    self.talk.rests();
                }
                Poll::Ready(written)
            }
        }
    }

    /// What the parser is about to say by itself is said by the service instead: refusals all look the same.
    fn poll_refuse(&mut self, cx: &mut Context<'_>, answer: &[u8]) -> Poll<io::Result<bool>> {
        let talk = &self.talk;
        if !self.refused && !talk.answering.load(Ordering::Relaxed) {
            let Some(fault) = canned::fault(answer, self.guard.has_request_line()) else {
                return Poll::Ready(Ok(false));
            };
            let line = &talk.line;
            let refusal = line.desk.refusals.refuse(fault, &line.visit);
            self.refusal = Some(canned::render(&refusal, canned::date(answer)));
            self.refused = true;
        }
        while let Some(mut refusal) = self.refusal.take() {
            let polled = Pin::new(&mut self.socket).poll_write(cx, &refusal);
            let polled = self.written(cx, polled);
            if let Poll::Ready(Ok(written)) = polled {
                refusal.advance(written);
            }
            if !refusal.is_empty() {
                self.refusal = Some(refusal);
            }
            ready!(polled)?;
            if self.refusal.is_none() {
                return Poll::Ready(Ok(true));
            }
        }
        Poll::Ready(Ok(false))
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Some(framing) = this.talk.told() {
            this.guard.told(framing);
        }
        if this.guard.is_broken() {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        if this.guard.holds() {
            // The parser has a whole head: it takes that one first, and then comes back by itself.
            return Poll::Pending;
        }
        if this.held.is_empty() {
            let before = buf.filled().len();
            let polled = Pin::new(&mut this.socket).poll_read(cx, buf);
            match polled {
                Poll::Pending => return this.read_waits(),
                Poll::Ready(read) => read?,
            }
            let bytes = &buf.filled()[before..];
            let passed = this.guard.pass(bytes);
            if passed < bytes.len() {
                this.held = Bytes::copy_from_slice(&bytes[passed..]);
                buf.set_filled(before + passed);
            }
        } else {
            let shown = this.held.len().min(buf.remaining());
            let passed = this.guard.pass(&this.held[..shown]);
            pour(&mut this.held, passed, buf);
        }
        if this.guard.is_broken() {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        this.passed();
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
        if ready!(this.poll_refuse(cx, buf))? {
            return Poll::Ready(Ok(buf.len()));
        }
        let polled = Pin::new(&mut this.socket).poll_write(cx, buf);
        this.written(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let first = bufs.first().map_or(&[][..], |buf| buf);
        if ready!(this.poll_refuse(cx, first))? {
            return Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()));
        }
        let polled = Pin::new(&mut this.socket).poll_write_vectored(cx, bufs);
        this.written(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.socket).poll_flush(cx) {
            Poll::Pending => this.talk.line.write_waits(),
            Poll::Ready(flushed) => {
                flushed?;
                // The parser flushes when all it has to say is written.
                if this.talk.line.pulse.stance() != Stance::Busy {
                    this.talk.answering.store(false, Ordering::Relaxed);
                }
                Poll::Ready(Ok(()))
            }
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.socket).poll_shutdown(cx) {
            Poll::Pending => this.talk.line.write_waits(),
            ready => ready,
        }
    }
}
