//! The reading side of a request that is being answered: its body, then whether its sender is still there.

use std::task::{Context, Poll, ready};

use http1_wire::{BodyReader, Framing, Request, Sending};

use super::mail::{self, Sender, Wish};
use super::outbox::Outbox;
use super::wire::{READ_BYTES, Wire};
use crate::line::LINGER_BYTES;
use crate::upload::{Upload, UploadError};

/// Bytes of a body that are read at once, and room for what may follow it.
const BODY_BYTES: usize = 64 * 1024;
const BEYOND_BYTES: usize = 1024;
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The client went away before it had its answer.
#[derive(Debug)]
pub(super) struct Gone;

pub(super) struct Feed {
    body: BodyReader,
    /// Where the body goes, until all of it has gone there.
    mail: Option<Sender>,
    /// The sender waits to be told that its body is wanted.
    expects: bool,
    /// Bytes that are still read of a body that nobody wants, so that another request may follow it.
    skips: usize,
    /// The answer has ended, and the rest is waited for.
    ending: bool,
    /// Where the next request begins cannot be known any more.
    lost: bool,
}

impl Feed {
    /// Of what was no request.
    pub(super) fn none() -> Self {
        Self {
            body: BodyReader::new(Framing::Length(0)),
            mail: None,
            expects: false,
            skips: LINGER_BYTES,
            ending: false,
            lost: false,
        }
    }

    /// Takes what is here of the body; what is not here is read when somebody asks for it.
    pub(super) fn begin(
        request: &Request,
        wire: &mut Wire,
        cx: &mut Context<'_>,
    ) -> (Self, Upload) {
        let mut feed = Self::none();
        let framing = match request.body {
            Sending::Length(0) => return (feed, Upload::nothing()),
            Sending::Length(length) => {
                if let Some(whole) = wire.take_whole(length, cx) {
                    return (feed, Upload::whole(whole));
                }
                Framing::Length(length)
            }
            Sending::Chunked => Framing::Chunked,
        };
        feed.expects = request.expects && !request.terms.old;
        feed.body = BodyReader::new(framing);
        let (sender, receiver) = mail::pair();
        feed.mail = Some(sender);
        let upload = Upload::mailed(receiver, feed.body.left(), &wire.line);
        (feed, upload)
    }

    /// Goes on as far as it can. Ready when whoever reads the body has something new to look at.
    pub(super) fn poll(
        &mut self,
        wire: &mut Wire,
        out: &mut Outbox,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Gone>> {
        let wish = self.mail.as_ref().map_or(Wish::Never, |mail| mail.wish(cx));
        match wish {
            Wish::Nothing => return wire.poll_departed(cx).map(|()| Err(Gone)),
            Wish::Never => {
                self.mail = None;
                ready!(self.poll_skip(wire, cx));
                return self.watch(wire, cx);
            }
            Wish::Piece => {}
        }
        if std::mem::take(&mut self.expects) {
            out.lead().extend_from_slice(CONTINUE);
        }
        loop {
            let piece = match self.body.next(&mut wire.inbox) {
                Ok(Some(piece)) => Some(Ok(piece)),
                Ok(None) if self.body.is_done() => None,
                Ok(None) => match ready!(wire.poll_fill(room(&self.body), cx)) {
                    Ok(1..) => continue,
                    Ok(0) => Some(Err(UploadError::gone("the body ends early"))),
                    Err(error) => Some(Err(UploadError::gone(error))),
                },
                Err(fault) => Some(Err(UploadError::Malformed(fault.into()))),
            };
            self.lost = matches!(piece, Some(Err(_)));
            let ended = self.lost || self.body.is_done();
            if let Some(mail) = &self.mail {
                mail.hand(piece, ended, cx);
            }
            if ended {
                self.mail = None;
            }
            return Poll::Ready(Ok(()));
        }
    }

    /// Nobody wants the rest: it is read and forgotten. Ready when it has ended, or will not; of what is known to be
    /// too much nothing is read.
    fn poll_skip(&mut self, wire: &mut Wire, cx: &mut Context<'_>) -> Poll<()> {
        let most = (self.skips + wire.inbox.len()) as u64;
        self.lost |= self.body.left().is_some_and(|left| left > most);
        while !self.lost && !self.body.is_done() {
            match self.body.next(&mut wire.inbox) {
                Ok(Some(_)) => {}
                Ok(None) if self.body.is_done() => {}
                Ok(None) if self.skips > 0 => match ready!(wire.poll_fill(room(&self.body), cx)) {
                    Ok(read @ 1..) => self.skips = self.skips.saturating_sub(read),
                    Ok(0) | Err(_) => self.lost = true,
                },
                Ok(None) | Err(_) => self.lost = true,
            }
        }
        Poll::Ready(())
    }

    /// Whether the client is still there. Of what it asks for next only so much is read.
    fn watch(&self, wire: &mut Wire, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        if !self.lost && wire.inbox.is_empty() {
            match ready!(wire.poll_fill(READ_BYTES, cx)) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return Poll::Ready(Err(Gone)),
            }
        }
        wire.poll_departed(cx).map(|()| Err(Gone))
    }

    /// The answer begins: nobody has to be told to go on any more. Whether a next request can follow as things are: of
    /// a body that nobody wants all has to be here, and of one that somebody may still let go of no more is to come
    /// than is skipped then. Whether a body comes that its sender was not told to send is nobody's to say.
    pub(super) fn answered(&mut self, wire: &mut Wire, cx: &mut Context<'_>) -> bool {
        let untold = std::mem::take(&mut self.expects);
        if let Some(mail) = &self.mail
            && mail.wish(cx) != Wish::Never
        {
            let skips = self.skips as u64;
            return !untold && self.body.left().is_none_or(|left| left <= skips);
        }
        self.mail = None;
        self.lost |= self.poll_skip(wire, cx).is_pending();
        !self.lost
    }

    /// The answer has ended: the body may still be on its way. Whether a next request follows it, which only where
    /// the connection `keeps` is worth reading what nobody wants.
    pub(super) fn poll_end(
        &mut self,
        wire: &mut Wire,
        out: &mut Outbox,
        keeps: bool,
        cx: &mut Context<'_>,
    ) -> Poll<bool> {
        while self.mail.is_some() {
            match self.poll(wire, out, cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(Gone)) => return Poll::Ready(false),
                Poll::Pending if self.mail.is_some() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        self.lost |= !keeps && !self.body.is_done();
        if self.poll_skip(wire, cx).is_pending() {
            if !std::mem::replace(&mut self.ending, true) {
                wire.ends_soon();
            }
            ready!(wire.poll_enough(cx));
            self.lost = true;
        }
        Poll::Ready(!self.lost)
    }

    /// Whether bytes of the body may still come that nobody has read.
    pub(super) fn is_unread(&self) -> bool {
        self.lost || !self.body.is_done()
    }
}

/// Room that is worth having for the next read of a body.
fn room(body: &BodyReader) -> usize {
    body.left().map_or(BODY_BYTES, |left| {
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        left.min(BODY_BYTES) + BEYOND_BYTES
    })
}
