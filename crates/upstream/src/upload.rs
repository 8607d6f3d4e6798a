//! A request on its way out: its head and its body, written as fast as the peer takes them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http1_wire::{Ask, Asked, Payload, Sending, chunk_head, spare, write_head, write_trailers};
use hyper::body::Body;
use kernel::clock;
use tokio::io::AsyncWrite;
use tokio::time::Instant;

use crate::io::Io;
use crate::outgoing::{BoxError, ClientBody, Outgoing};

/// Pieces of a body that leave together, and about how many bytes.
const PIECES: usize = 4;
const GATHERED_BYTES: usize = 64 * 1024;

pub(crate) struct Upload {
    /// Said before the pieces: the head, and what begins a chunk.
    lead: Vec<u8>,
    /// How much of it has been.
    said: usize,
    pieces: [Bytes; PIECES],
    count: usize,
    /// Said after the pieces.
    tail: &'static [u8],
    /// What is here is ready to be written.
    staged: bool,
    body: Outgoing,
    trailers: Option<HeaderMap>,
    sending: Sending,
    /// The body holds nothing more.
    ended: bool,
    /// Nothing more is to be written after what is staged.
    closed: bool,
    flushed: bool,
    /// The first of the body has been given its moment to become more.
    lingered: bool,
    /// Since when more of the body has been waited for; nothing while it is the peer that takes its time.
    lacks_since: Option<Instant>,
    /// Whether the peer may have heard of the request.
    pub(crate) wrote: bool,
}

/// Why a request cannot be sent.
#[derive(Debug)]
pub(crate) enum UploadError {
    /// Its body failed.
    Body(BoxError),
    /// The connection did.
    Io(io::Error),
}

impl Upload {
    /// Nothing is being sent.
    pub(crate) fn none() -> Self {
        Self {
            lead: Vec::new(),
            said: 0,
            pieces: Default::default(),
            count: 0,
            tail: b"",
            staged: false,
            body: Outgoing::Empty,
            trailers: None,
            sending: Sending::Length(0),
            ended: true,
            closed: true,
            flushed: true,
            lingered: false,
            lacks_since: None,
            wrote: false,
        }
    }

    /// Begins a request; the one before is over. Says what its answer is read by, and whether another may follow.
    pub(crate) fn begin(
        &mut self,
        ask: &Ask<'_>,
        host: impl FnOnce() -> String,
        body: Outgoing,
    ) -> (Asked, bool) {
        let payload = match &body {
            Outgoing::Empty => Payload::Nothing,
            Outgoing::Stream(body) => Payload::Some(body.size_hint().exact()),
        };
        self.lead.clear();
        let written = write_head(self.room(), ask, host, payload);
        self.sending = written.sending;
        self.ended = self.sending == Sending::Length(0);
        self.closed = self.ended;
        (self.said, self.flushed, self.wrote) = (0, false, false);
        (self.staged, self.lingered) = (self.closed, false);
        self.lacks_since = None;
        self.body = body;
        (written.asked, written.keeps)
    }

    /// All of the request has left.
    pub(crate) fn is_over(&self) -> bool {
        self.closed && self.flushed && self.is_said()
    }

    /// Since when the rest of the body has been waited for, if that is what is waited for.
    pub(crate) fn lacks_since(&self) -> Option<Instant> {
        self.lacks_since.filter(|_| !self.is_over())
    }

    /// Lets go of the body: its end may be somebody else's business, and none for a connection that rests.
    pub(crate) fn let_go(&mut self) {
        self.body = Outgoing::Empty;
    }

    /// Gives back what a connection at rest does not need.
    pub(crate) fn rest(&mut self) {
        self.lead = Vec::new();
    }

    fn room(&mut self) -> &mut Vec<u8> {
        if self.lead.capacity() == 0 {
            self.lead = spare::take_outbox();
        }
        &mut self.lead
    }

    /// Sends what the peer takes of what is here. The first of a body leaves together with the head.
    pub(crate) fn poll(
        &mut self,
        io: &mut Io,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), UploadError>> {
        loop {
            let waits = !self.staged && self.gather(cx).map_err(UploadError::Body)?;
            if waits && self.lingers() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !self.staged {
                self.stage();
            }
            let Poll::Ready(written) = self.write(io, cx) else {
                self.lacks_since = None;
                return Poll::Pending;
            };
            written.map_err(UploadError::Io)?;
            if !waits && !self.closed {
                continue;
            }
            ready!(Pin::new(&mut *io).poll_flush(cx)).map_err(UploadError::Io)?;
            self.flushed = true;
            if self.closed {
                return Poll::Ready(Ok(()));
            }
            self.lacks_since.get_or_insert_with(clock::now);
            return Poll::Pending;
        }
    }

    /// Who brings a body often has the rest of it in the next buffer, and reads that as soon as it is its turn: one
    /// write for both costs less than a moment.
    fn lingers(&mut self) -> bool {
        let more = matches!(self.sending, Sending::Length(1..));
        more && self.count > 0 && !std::mem::replace(&mut self.lingered, true)
    }

    /// Takes what is here of the body; true if there is more to wait for.
    fn gather(&mut self, cx: &mut Context<'_>) -> Result<bool, BoxError> {
        let mut bytes: usize = self.pieces.iter().map(Bytes::len).sum();
        while !self.ended && self.count < PIECES && bytes < GATHERED_BYTES {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
                return Ok(true);
            };
            match frame.transpose()?.map(|frame| frame.into_data()) {
                Some(Ok(data)) => {
                    bytes += data.len();
                    self.take(data)?;
                }
                Some(Err(other)) => {
                    self.trailers = other.into_trailers().ok();
                    self.end()?;
                }
                None => self.end()?,
            }
            if !self.ended && self.body.is_end_stream() {
                self.end()?;
            }
        }
        Ok(false)
    }

    fn take(&mut self, data: Bytes) -> Result<(), BoxError> {
        if let Sending::Length(left) = &mut self.sending {
            let after = left.checked_sub(data.len() as u64);
            *left = after.ok_or_else(|| mislabelled("longer"))?;
            self.ended = *left == 0;
        }
        if !data.is_empty() {
            self.pieces[self.count] = data;
            self.count += 1;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), BoxError> {
        self.ended = true;
        match self.sending {
            Sending::Length(1..) => Err(mislabelled("shorter")),
            _ => Ok(()),
        }
    }

    /// Frames what was gathered.
    fn stage(&mut self) {
        self.staged = true;
        if self.sending != Sending::Chunked {
            self.closed = self.ended;
            return;
        }
        let bytes = self.pieces.iter().map(Bytes::len).sum();
        if bytes > 0 {
            chunk_head(self.room(), bytes);
            self.closed = self.ended && self.trailers.is_none();
            self.tail = if self.closed {
                b"\r\n0\r\n\r\n"
            } else {
                b"\r\n"
            };
        } else if self.ended {
            let trailers = self.trailers.take().unwrap_or_default();
            write_trailers(self.room(), &trailers);
            self.closed = true;
        }
    }

    fn is_said(&self) -> bool {
        self.said == self.lead.len() && self.count == 0 && self.tail.is_empty()
    }

    fn write(&mut self, io: &mut Io, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.is_said() {
            let lead = &self.lead[self.said..];
            let io = Pin::new(&mut *io);
            let written = if self.count == 0 && self.tail.is_empty() {
                ready!(io.poll_write(cx, lead))?
            } else {
                let [first, second, third, fourth] = &self.pieces;
                let parts = [lead, first, second, third, fourth, self.tail];
                let (mut slices, mut count) = ([IoSlice::new(&[]); 6], 0);
                for part in parts.into_iter().filter(|part| !part.is_empty()) {
                    slices[count] = IoSlice::new(part);
                    count += 1;
                }
                ready!(io.poll_write_vectored(cx, &slices[..count]))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.wrote = true;
            self.flushed = false;
            self.advance(written);
        }
        spare::put_outbox(std::mem::take(&mut self.lead));
        (self.said, self.staged) = (0, false);
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, written: usize) {
        let of_lead = written.min(self.lead.len() - self.said);
        self.said += of_lead;
        let mut left = written - of_lead;
        for piece in &mut self.pieces[..self.count] {
            let of_piece = left.min(piece.len());
            piece.advance(of_piece);
            left -= of_piece;
        }
        self.tail = &self.tail[left..];
        if self.pieces[..self.count].iter().all(Bytes::is_empty) {
            self.pieces[..self.count].fill(Bytes::new());
            self.count = 0;
        }
    }
}

fn mislabelled(how: &str) -> BoxError {
    let error = format!("it is {how} than its declared length");
    BoxError::from(ClientBody(error.into()))
}

#[cfg(test)]
mod tests;
