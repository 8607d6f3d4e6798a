//! An HTTP/1 connection: no task, no channel, no wake-up of its own. Whoever waits for an answer moves it, in place.

use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Bytes, BytesMut};
use http::Response;
use http1_wire::spare::{self, LARGE_BYTES, READ_BYTES};
use http1_wire::{Answer, Ask, Asked, BodyReader, Fault, Framing, HeadReader, Piece};
use hyper::body::{Frame, SizeHint};
use kernel::fetch::Spot;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use crate::io::{Io, Lent};
use crate::outgoing::{BoxError, Outgoing};
use crate::switched::Switched;
use crate::upload::{Upload, UploadError};

/// A read with less room than this is not worth it.
const LITTLE_BYTES: usize = 1024;
/// Read at once at most, where more is known to come.
const LARGE_READ_BYTES: usize = 64 * 1024;
/// Asked for beyond what was promised: a read that is not filled tells that no more is there, and more would be seen.
const BEYOND_BYTES: usize = 64;

pub(crate) type PolledFrame = Poll<Option<Result<Frame<Bytes>, LineError>>>;

/// Why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// The body of the request did.
    #[error("{0}")]
    Upload(BoxError),
    /// What came cannot be read.
    #[error(transparent)]
    Wire(#[from] Fault),
    /// The stream broke.
    #[error(transparent)]
    Io(io::Error),
    /// The peer closed it.
    #[error("closed before an answer")]
    Closed,
}

/// Whose the room for what comes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// There is none.
    None,
    /// Shared with others, as is usual.
    Usual,
    /// Shared with others that are told of long answers.
    Large,
    /// Its own: made for what had to stay in one piece.
    Own,
}

pub(crate) struct Line {
    io: Io,
    upload: Upload,
    /// How writing failed. An answer may have come before, or say why.
    broken: Option<io::Error>,
    /// What has come and is not taken yet.
    inbox: BytesMut,
    head: HeadReader,
    body: BodyReader,
    asked: Asked,
    switched: bool,
    /// The answer ends with its head, whatever its fields say.
    bodiless: bool,
    /// Whether both sides are willing to go on after this exchange.
    keeps: bool,
    /// Whether anything has come in this exchange.
    read: bool,
    /// Whether the last read took all the room there was: more is likely there.
    full: bool,
    room: Room,
    generation: u32,
    head_bytes: usize,
}

impl Line {
    /// Speaks HTTP/1 over a stream that stands.
    pub(crate) fn new(io: Io, head_bytes: usize, generation: u32) -> Self {
        Self {
            io,
            upload: Upload::none(),
            broken: None,
            inbox: BytesMut::new(),
            head: HeadReader::new(head_bytes),
            body: BodyReader::new(Framing::Length(0)),
            asked: Asked::default(),
            switched: false,
            bodiless: false,
            keeps: true,
            read: false,
            full: false,
            room: Room::None,
            generation,
            head_bytes,
        }
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Whether anything of the last request may have reached the peer.
    pub(crate) fn wrote(&self) -> bool {
        self.upload.wrote
    }

    /// Whether anything came back for it.
    pub(crate) fn read(&self) -> bool {
        self.read
    }

    /// Since when the rest of the request has been waited for, if that is what is waited for.
    pub(crate) fn lacks_since(&self) -> Option<Instant> {
        self.upload.lacks_since()
    }

    /// Whether it can take a request: a peer that has closed, or spoken out of turn, is noticed.
    pub(crate) fn is_fit(&mut self) -> bool {
        self.is_ready() && self.io.is_silent()
    }

    /// The same, and it lets go of the task that used it last.
    pub(crate) fn is_fit_alone(&mut self) -> bool {
        self.is_ready() && self.io.is_left_alone()
    }

    /// Whether the last exchange is over on both sides and the connection stands.
    pub(crate) fn is_ready(&self) -> bool {
        self.keeps
            && self.broken.is_none()
            && self.body.is_done()
            && self.upload.is_over()
            && self.inbox.is_empty()
    }

    /// Whether more came than the answer promised. One that has no body promised nothing, and is right without what
    /// comes behind it (RFC 9112 6.3).
    pub(crate) fn spoke_out_of_turn(&self) -> bool {
        self.body.is_done() && !self.inbox.is_empty() && !self.bodiless
    }

    /// Lets the request end if it can.
    pub(crate) fn end(&mut self) {
        if !self.upload.is_over() {
            let _over_or_not = self.send(&mut deaf());
        }
        if self.upload.is_over() {
            self.upload.let_go();
        }
        if self.inbox.is_empty() {
            self.gives_back_room();
        }
    }

    /// Others may need it; who still holds a part of what came keeps that.
    fn gives_back_room(&mut self) {
        let inbox = std::mem::take(&mut self.inbox);
        match std::mem::replace(&mut self.room, Room::None) {
            Room::Usual => spare::put_inbox(inbox),
            Room::Large => spare::put_large(inbox),
            Room::None | Room::Own => {}
        }
    }

    /// Gives back what a connection that rests for a while does not need.
    pub(crate) fn rest(&mut self) {
        if self.inbox.is_empty() {
            self.inbox = BytesMut::new();
            self.room = Room::None;
        }
        self.upload.rest();
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn exchange(
        &mut self,
        ask: &Ask<'_>,
        host: impl FnOnce() -> String,
        body: Outgoing,
    ) -> Result<Response<()>, LineError> {
        self.head = HeadReader::new(self.head_bytes);
        self.read = false;
        (self.asked, self.keeps) = self.upload.begin(ask, host, body);
        std::future::poll_fn(|cx| {
            // It lay there while others had their answers.
            Spot::of(self).fetch();
            self.poll_answer(cx)
        })
        .await
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response<()>, LineError>> {
        self.send(cx)?;
        loop {
            if !self.inbox.is_empty()
                && let Some(answer) = self.head.read(&mut self.inbox, self.asked)?
            {
                return Poll::Ready(self.heard(answer));
            }
            let heard = ready!(self.fill(LITTLE_BYTES, cx));
            if let Some(broken) = self.broken.take_if(|_| !matches!(heard, Ok(1..))) {
                return Poll::Ready(Err(LineError::Io(broken)));
            }
            if heard.map_err(LineError::Io)? == 0 {
                return Poll::Ready(Err(LineError::Closed));
            }
        }
    }

    fn heard(&mut self, answer: Answer) -> Result<Response<()>, LineError> {
        self.body = BodyReader::new(answer.framing);
        self.keeps &= answer.keeps;
        self.bodiless = answer.bodiless;
        self.switched = answer.framing == Framing::Switched;
        if self.switched && !self.upload.is_over() {
            return Err(Fault::Garbage("another protocol before the request had ended").into());
        }
        let mut response = Response::new(());
        *response.status_mut() = answer.status;
        *response.version_mut() = answer.version;
        *response.headers_mut() = answer.headers;
        Ok(response)
    }

    /// The next frame of the answer's body; the rest of the request goes on meanwhile.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> PolledFrame {
        self.send(cx)?;
        loop {
            if let Some(piece) = self.body.next(&mut self.inbox)? {
                let frame = match piece {
                    Piece::Data(data) => Frame::data(data),
                    Piece::Trailers(trailers) => Frame::trailers(trailers),
                };
                return Poll::Ready(Some(Ok(frame)));
            }
            if self.body.is_done() {
                return Poll::Ready(None);
            }
            let least = self.body.left().map_or(LITTLE_BYTES, |left| {
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                left.min(LARGE_READ_BYTES) + BEYOND_BYTES
            });
            if ready!(self.fill(least, cx)).map_err(LineError::Io)? == 0 {
                self.keeps = false;
                self.body.close()?;
            }
        }
    }

    /// Whether all of the answer was taken.
    pub(crate) fn is_done(&self) -> bool {
        self.body.is_done()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        self.body
            .left()
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }

    /// Whether the peer has agreed to speak another protocol.
    pub(crate) fn is_switched(&self) -> bool {
        self.switched
    }

    /// The stream itself, with what came of the other protocol already.
    pub(crate) fn lend(&self) -> Lent {
        self.io.lend()
    }

    pub(crate) fn into_switched(self) -> Switched {
        Switched::new(self.io, self.inbox)
    }

    /// Sends what can be sent. That the peer takes no more is no reason not to hear what it says.
    fn send(&mut self, cx: &mut Context<'_>) -> Result<(), LineError> {
        if self.upload.is_over() || self.broken.is_some() {
            return Ok(());
        }
        match self.upload.poll(&mut self.io, cx) {
            Poll::Ready(Err(UploadError::Body(error))) => Err(LineError::Upload(error)),
            Poll::Ready(Err(UploadError::Io(error))) => {
                self.broken = Some(error);
                Ok(())
            }
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    /// Reads once, into room for `least` bytes; zero is the end.
    fn fill(&mut self, least: usize, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.inbox.capacity() == 0 {
            // Who waits needs no room.
            ready!(self.io.poll_heard(cx));
        }
        if self.inbox.capacity() - self.inbox.len() < least {
            self.makes_room(least);
        }
        let Poll::Ready(filled) = pin!(self.io.read_buf(&mut self.inbox)).poll(cx) else {
            match self.room {
                Room::Usual => spare::put_inbox_if_whole(&mut self.inbox),
                Room::Large => spare::put_large_if_whole(&mut self.inbox),
                Room::None | Room::Own => {}
            }
            if self.inbox.capacity() == 0 {
                self.room = Room::None;
            }
            return Poll::Pending;
        };
        self.read |= matches!(filled, Ok(1..));
        self.full = self.inbox.capacity() == self.inbox.len();
        Poll::Ready(filled)
    }

    /// For so many bytes, and more where more is likely there.
    fn makes_room(&mut self, least: usize) {
        let usual = match self.full {
            true => LARGE_READ_BYTES,
            false => READ_BYTES,
        };
        let wanted = least.max(usual);
        if !self.inbox.is_empty() {
            self.room = Room::Own;
            return self.inbox.reserve(wanted);
        }
        let was_large = self.room == Room::Large;
        self.gives_back_room();
        (self.inbox, self.room) = match wanted {
            ..=READ_BYTES => (spare::take_inbox(), Room::Usual),
            ..=LARGE_BYTES if was_large || wanted >= LARGE_BYTES / 2 => {
                (spare::take_large(), Room::Large)
            }
            _ => (BytesMut::with_capacity(wanted), Room::Own),
        };
    }
}

fn deaf() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[cfg(test)]
mod tests;
