//! The socket of an HTTP/1 connection with what has been read of it, timed.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http1_wire::spare;
use kernel::serve::Stay;
use tokio::io::{AsyncReadExt, AsyncWrite};

use super::sending;
use super::upgrade::Upgraded;
use crate::line::Line;
use crate::pulse::{Order, Stance};
use crate::sealed::Spring;
use crate::socket::{SIP, Socket, poll_sip};

/// How long someone who has shaken hands may take to ask, while the door closes.
const FIRST_WORD_TICKS: u32 = 2;
/// How often it is looked whether someone is still there of whom nothing is read.
const GLANCE_TICKS: u32 = 5;
/// Room for what is read, and the least of it that is worth a read.
pub(super) const READ_BYTES: usize = spare::READ_BYTES;
const LEAST_BYTES: usize = 2 * 1024;
/// Bodies up to this are taken whole if all of them is here.
const WHOLE_BYTES: usize = 64 * 1024;

pub(crate) struct Wire {
    socket: Socket,
    pub(super) line: Arc<Line>,
    /// Read, and not taken yet.
    pub(super) inbox: BytesMut,
    /// The last read had room for no more: there may be more to read.
    full: bool,
    /// There was more room than is shared with others.
    large: bool,
    /// Bytes of the last body, which came right behind its head: the next may be like it.
    likely: usize,
    /// The room is for a body that is likely.
    ample: bool,
    pub(super) head_bytes: usize,
    /// Told to be quick, since the door closes.
    hurried: bool,
    /// The rest has lasted long enough for a nap.
    rested: bool,
    /// Given back when the socket is dropped, which an upgrade may carry far away.
    stay: Stay,
}

impl Wire {
    /// `early` is what has been read already.
    pub(crate) fn new(
        socket: Socket,
        early: Bytes,
        line: Arc<Line>,
        head_bytes: usize,
        stay: Stay,
    ) -> Self {
        Self {
            socket,
            line,
            inbox: BytesMut::from(early),
            full: false,
            // Whose room this is nobody knows.
            large: true,
            likely: 0,
            ample: false,
            head_bytes: head_bytes.max(8192),
            hurried: false,
            rested: false,
            stay,
        }
    }

    /// Waits for the first bytes of a request with nothing set up for them; `false` if it is over instead.
    pub(crate) async fn wakes(&mut self) -> bool {
        poll_fn(|cx| self.poll_wakes(cx)).await
    }

    fn poll_wakes(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        self.line.pulse.belongs_to(cx.waker());
        if !self.inbox.is_empty() {
            return Poll::Ready(true);
        }
        match poll_sip(&mut self.socket, cx) {
            Poll::Ready(Ok(sip)) if !sip.is_empty() => {
                self.takes_room();
                self.inbox.extend_from_slice(&sip);
                self.full = sip.len() == SIP;
                Poll::Ready(true)
            }
            Poll::Ready(_) => Poll::Ready(false),
            Poll::Pending if self.is_to_leave() => Poll::Ready(false),
            Poll::Pending if self.line.pulse.read.passed() => {
                self.line.desk.timeouts.read.inc();
                Poll::Ready(false)
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Whoever has just shaken hands is about to ask for something, and gets a moment to.
    fn is_to_leave(&mut self) -> bool {
        let line = &self.line;
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

    /// The first bytes of a head start its clock; later ones do not prolong it.
    pub(super) fn head_goes_on(&self) {
        let (line, clock) = (&self.line, &self.line.desk.clock);
        if matches!(line.pulse.stance(), Stance::Fresh | Stance::Resting) {
            line.pulse.take(Stance::Head, clock);
            line.pulse.read.set(clock, line.patience.head);
        }
    }

    /// A request has been taken.
    pub(super) fn works(&self) {
        self.line.pulse.read.clear();
        self.line.pulse.take(Stance::Busy, &self.line.desk.clock);
    }

    /// Its answer has been written.
    pub(super) fn rests(&mut self) {
        let (line, clock) = (&self.line, &self.line.desk.clock);
        line.pulse.take(Stance::Resting, clock);
        line.pulse.read.set(clock, line.patience.nap);
        self.rested = false;
        if self.large && self.inbox.is_empty() {
            self.inbox = BytesMut::new();
        }
    }

    /// Whether it is time for a nap: the buffers may go, the time goes on.
    pub(super) fn is_tired(&mut self) -> bool {
        let line = &self.line;
        if self.rested || line.pulse.stance() != Stance::Resting {
            return false;
        }
        self.rested = true;
        let left = line.patience.idle - line.patience.nap;
        line.pulse.read.set(&line.desk.clock, left);
        true
    }

    /// Gives back what nobody needs in a nap.
    pub(super) fn naps(&mut self) {
        self.gives_back_room();
        self.inbox = BytesMut::new();
    }

    fn takes_room(&mut self) {
        let likely = std::mem::take(&mut self.likely);
        self.ample = likely > 0;
        self.large = self.ample;
        self.inbox = match self.ample {
            true => BytesMut::with_capacity(READ_BYTES + likely),
            false => spare::take_inbox(),
        };
    }

    /// Others may need it, as long as nothing is in there and nobody holds what was. Who waits needs no more than is
    /// usual, whatever was likely.
    fn gives_back_room(&mut self) {
        if self.inbox.len() <= READ_BYTES / 2 && std::mem::take(&mut self.ample) {
            let mut usual = spare::take_inbox();
            usual.extend_from_slice(&self.inbox);
            (self.inbox, self.large) = (usual, false);
        }
        if !self.large {
            spare::put_inbox_if_whole(&mut self.inbox);
        }
    }

    /// Reads once; zero is the end. Makes room for so many bytes where the last read filled what there was, else for
    /// a few: who sends slowly needs no large buffer.
    pub(super) fn poll_fill(
        &mut self,
        room: usize,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.inbox.capacity() == 0 {
            // Nearly every connection waits at nearly every moment: for that it needs no room.
            ready!(self.socket.poll_heard(cx));
            self.takes_room();
        }
        let room = if self.full { room } else { READ_BYTES };
        if self.inbox.capacity() - self.inbox.len() < LEAST_BYTES.max(room / 2) {
            self.large |= !self.inbox.is_empty() || room > READ_BYTES;
            self.inbox.reserve(room);
        }
        let read = pin!(self.socket.read_buf(&mut self.inbox)).poll(cx);
        self.full = self.inbox.len() == self.inbox.capacity();
        if read.is_pending() {
            self.gives_back_room();
        }
        read
    }

    /// For who does not read on while a request is worked on, and so hears nothing: ready when the peer has gone.
    pub(super) fn poll_departed(&self, cx: &Context<'_>) -> Poll<()> {
        let (pulse, clock) = (&self.line.pulse, &self.line.desk.clock);
        if pulse.read.is_set() && !pulse.read.passed() {
            return Poll::Pending;
        }
        if pulse.read.passed() && self.socket.has_hung_up() {
            return Poll::Ready(());
        }
        pulse.belongs_to(cx.waker());
        pulse.read.set(clock, GLANCE_TICKS);
        Poll::Pending
    }

    /// Its answer has been written, and what is left of the request has only so long to come.
    pub(super) fn ends_soon(&self) {
        let line = &self.line;
        line.pulse.read.set(&line.desk.clock, line.patience.body);
    }

    /// Ready when that time is over, or it is time to leave.
    pub(super) fn poll_enough(&self, cx: &Context<'_>) -> Poll<()> {
        let pulse = &self.line.pulse;
        pulse.belongs_to(cx.waker());
        let late = pulse.read.passed();
        if late {
            self.line.desk.timeouts.read.inc();
        }
        match late || pulse.ordered() != Order::Stay {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// What was sent is not all: to who takes the end of the connection for the end of an answer, it has none.
    pub(super) fn breaks_off(&self) {
        self.socket.break_off();
    }

    /// A body of this length, if all of it is here or can be had without waiting.
    pub(super) fn take_whole(&mut self, length: u64, cx: &mut Context<'_>) -> Option<Bytes> {
        let length = usize::try_from(length).ok()?;
        if self.inbox.len() < length && length <= WHOLE_BYTES && self.full {
            self.large = true;
            self.inbox.reserve(length - self.inbox.len() + LEAST_BYTES);
            let _here_or_not = self.poll_fill(READ_BYTES, cx);
        }
        let is_here = length <= self.inbox.len();
        // What is larger was read in pieces anyway, and what is smaller has room.
        if is_here && (READ_BYTES / 2..=WHOLE_BYTES).contains(&length) {
            self.likely = length;
        }
        is_here.then(|| self.inbox.split_to(length).freeze())
    }

    pub(super) fn poll_write(
        &mut self,
        bufs: &[IoSlice<'_>],
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let socket = Pin::new(&mut self.socket);
        let polled = match bufs {
            [one] => socket.poll_write(cx, one),
            _ => socket.poll_write_vectored(cx, bufs),
        };
        self.line.written(polled, cx)
    }

    /// Whether the system can send files over it.
    pub(super) fn sends_files(&self) -> bool {
        self.socket.bare().is_some()
    }

    /// Writes what something follows at once, so that both may leave together.
    pub(super) fn poll_lead(
        &mut self,
        lead: &[u8],
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let polled = sending::poll_lead(self.socket.bare(), lead, cx);
        self.line.written(polled, cx)
    }

    /// Has the system send `piece` from where it has it.
    pub(super) fn poll_spring(
        &mut self,
        spring: Spring<'_>,
        piece: &[u8],
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let socket = self.socket.bare();
        let polled = match spring {
            Spring::File(file, place) => sending::poll_file(socket, file, place, cx),
            Spring::Well(well) => match well.draw() {
                Some(draught) => sending::poll_draught(socket, draught, cx),
                None => return self.poll_write(&[IoSlice::new(piece)], cx),
            },
        };
        self.line.written(polled, cx)
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_flush(cx);
        self.line.written(polled, cx)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.line.written(polled, cx)
    }

    /// Ends in order. If the peer may still be sending, to close now would reset what it has not read yet.
    pub(super) async fn ends(mut self, unread: bool) {
        let shut = poll_fn(|cx| self.poll_shutdown(cx)).await;
        if unread && shut.is_ok() {
            self.line.clone().linger(&mut self.socket).await;
        }
    }

    /// It is HTTP no more.
    pub(super) fn into_upgraded(self) -> Upgraded {
        Upgraded::new(self.socket, self.inbox, self.line, self.stay)
    }
}
