//! A request on its way out: its head and its body, written as fast as the peer takes them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http1_wire::{Ask, Payload, Sending, chunk_head, write_head, write_trailers};
use hyper::body::Body;
use tokio::io::AsyncWrite;

use crate::io::Io;
use crate::outgoing::{BoxError, ClientBody, Outgoing};

/// Kept of a head's buffer while its connection rests.
const KEPT_BYTES: usize = 1024;

pub(crate) struct Upload {
    /// Said before the piece: the head, and what begins a chunk.
    lead: Vec<u8>,
    /// How much of it has been.
    said: usize,
    piece: Bytes,
    /// Said after the piece.
    tail: &'static [u8],
    body: Outgoing,
    sending: Sending,
    /// The body holds nothing more.
    ended: bool,
    flushed: bool,
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
            piece: Bytes::new(),
            tail: b"",
            body: Outgoing::Empty,
            sending: Sending::Length(0),
            ended: true,
            flushed: true,
            wrote: false,
        }
    }

    /// Begins a request; the one before is over.
    pub(crate) fn begin(&mut self, ask: &Ask<'_>, host: impl FnOnce() -> String, body: Outgoing) {
        let payload = match &body {
            Outgoing::Empty => Payload::Nothing,
            Outgoing::Stream(body) => Payload::Some(body.size_hint().exact()),
        };
        self.lead.clear();
        self.sending = write_head(&mut self.lead, ask, host, payload);
        (self.said, self.flushed, self.wrote) = (0, false, false);
        self.ended = self.sending == Sending::Length(0);
        self.body = body;
    }

    /// All of the request has left.
    pub(crate) fn is_over(&self) -> bool {
        self.ended && self.flushed && self.is_said()
    }

    /// Gives back what a connection at rest does not need.
    pub(crate) fn rest(&mut self) {
        self.body = Outgoing::Empty;
        self.lead.clear();
        self.lead.shrink_to(KEPT_BYTES);
    }

    /// Sends what the peer takes of what is here. The first of a body leaves together with the head.
    pub(crate) fn poll(
        &mut self,
        io: &mut Io,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), UploadError>> {
        loop {
            let hungry = !self.ended && self.piece.is_empty() && self.tail.is_empty();
            let waits = hungry && self.take(cx).map_err(UploadError::Body)?.is_pending();
            ready!(self.write(io, cx)).map_err(UploadError::Io)?;
            if !waits && !self.ended {
                continue;
            }
            ready!(Pin::new(&mut *io).poll_flush(cx)).map_err(UploadError::Io)?;
            self.flushed = true;
            return match self.ended {
                true => Poll::Ready(Ok(())),
                false => Poll::Pending,
            };
        }
    }

    /// Takes the next of the body.
    fn take(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, BoxError> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
            return Ok(Poll::Pending);
        };
        match frame.transpose()?.map(|frame| frame.into_data()) {
            Some(Ok(data)) => self.stage(data)?,
            Some(Err(other)) => self.end(other.into_trailers().ok())?,
            None => self.end(None)?,
        }
        if !self.ended && self.body.is_end_stream() {
            self.end(None)?;
        }
        Ok(Poll::Ready(()))
    }

    fn stage(&mut self, data: Bytes) -> Result<(), BoxError> {
        match &mut self.sending {
            // A chunk of nothing would be the last one.
            _ if data.is_empty() => return Ok(()),
            Sending::Chunked => {
                chunk_head(&mut self.lead, data.len());
                self.tail = b"\r\n";
            }
            Sending::Length(left) => {
                let after = left.checked_sub(data.len() as u64);
                *left = after.ok_or_else(|| mislabelled("longer"))?;
                self.ended = *left == 0;
            }
        }
        self.piece = data;
        Ok(())
    }

    fn end(&mut self, trailers: Option<HeaderMap>) -> Result<(), BoxError> {
        self.ended = true;
        match (self.sending, trailers) {
            (Sending::Length(0), _) => {}
            (Sending::Length(_), _) => return Err(mislabelled("shorter")),
            (Sending::Chunked, Some(trailers)) => write_trailers(&mut self.lead, &trailers),
            (Sending::Chunked, None) if self.piece.is_empty() => {
                write_trailers(&mut self.lead, &HeaderMap::new());
            }
            (Sending::Chunked, None) => self.tail = b"\r\n0\r\n\r\n",
        }
        Ok(())
    }

    fn is_said(&self) -> bool {
        self.said == self.lead.len() && self.piece.is_empty() && self.tail.is_empty()
    }

    fn write(&mut self, io: &mut Io, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.is_said() {
            let lead = &self.lead[self.said..];
            let io = Pin::new(&mut *io);
            let written = if self.piece.is_empty() && self.tail.is_empty() {
                ready!(io.poll_write(cx, lead))?
            } else {
                let parts = [lead, &self.piece, self.tail].map(IoSlice::new);
                ready!(io.poll_write_vectored(cx, &parts))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.wrote = true;
            self.flushed = false;
            self.advance(written);
        }
        self.lead.clear();
        self.said = 0;
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, written: usize) {
        let of_lead = written.min(self.lead.len() - self.said);
        self.said += of_lead;
        let of_piece = (written - of_lead).min(self.piece.len());
        self.piece.advance(of_piece);
        self.tail = &self.tail[written - of_lead - of_piece..];
    }
}

fn mislabelled(how: &str) -> BoxError {
    let error = format!("it is {how} than its declared length");
    BoxError::from(ClientBody(error.into()))
}
