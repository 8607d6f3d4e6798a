//! A connection that is awake: what it needs for one request after another.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{HeaderValue, TRAILER};
use http::response::Parts;
use http_body::Body;
use http1_wire::{
    Framing, Payload, Request, RequestReader, Tell, Terms, Told, Unreadable, listed_trailers,
    spare, write_answer,
};

use super::feed::{Feed, Gone};
use super::outbox::{Outbox, Sending};
use super::wire::{READ_BYTES, Wire};
use crate::pulse::{Order, Today};
use crate::sealed::Sealed;

/// What comes of waiting for a request.
pub(super) enum Heard {
    /// It is left at the seat: it is large, and each who is told of it would copy it.
    Request,
    Unreadable(Unreadable),
    /// Nothing for a while.
    Nap,
    /// Nothing any more.
    Over,
    /// Part of a head, and then nothing in time or at all.
    Lost,
}

/// An answer could not be written to its end.
#[derive(Debug)]
pub(super) struct Broken;

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        tracing::debug!(%error, "a connection broke off");
        Self
    }
}

pub(super) struct Seat {
    pub(super) wire: Wire,
    out: Outbox,
    today: Today,
    /// The request that has come, until it is taken up.
    pub(super) request: Option<Request>,
    /// The trailers the answer has announced.
    listed: Vec<HeaderValue>,
}

impl Seat {
    pub(super) fn new(wire: Wire) -> Self {
        Self {
            wire,
            out: Outbox::default(),
            today: Today::default(),
            request: None,
            listed: Vec::new(),
        }
    }

    /// Only the socket stays.
    pub(super) fn nap(mut self) -> Wire {
        self.wire.naps();
        self.wire
    }

    /// Waits for a request.
    pub(super) async fn hear(&mut self) -> Heard {
        let mut reader = RequestReader::new(self.wire.head_bytes);
        poll_fn(|cx| self.poll_hear(&mut reader, cx)).await
    }

    fn poll_hear(&mut self, reader: &mut RequestReader, cx: &mut Context<'_>) -> Poll<Heard> {
        loop {
            if !self.wire.inbox.is_empty() {
                let mut fields = spare::take_fields();
                match reader.read(&mut self.wire.inbox, &mut fields) {
                    Ok(Some(request)) => {
                        self.request = Some(request);
                        return Poll::Ready(Heard::Request);
                    }
                    Ok(None) => self.wire.head_goes_on(),
                    Err(why) => return Poll::Ready(Heard::Unreadable(why)),
                }
                spare::put_fields(fields);
            }
            match self.wire.poll_fill(READ_BYTES, cx) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0)) if !reader.has_begun() => return Poll::Ready(Heard::Over),
                Poll::Ready(_) => return Poll::Ready(Heard::Lost),
                Poll::Pending => return self.wait(reader.has_begun(), cx),
            }
        }
    }

    /// First what has come in, then whether it is time to leave: on a busy node both are heard at once.
    fn wait(&mut self, begun: bool, cx: &Context<'_>) -> Poll<Heard> {
        let pulse = &self.wire.line.pulse;
        pulse.belongs_to(cx.waker());
        match pulse.ordered() {
            Order::Cut => return Poll::Ready(Heard::Lost),
            Order::Leave if !begun => return Poll::Ready(Heard::Over),
            Order::Leave | Order::Stay => {}
        }
        if !pulse.read.passed() {
            return Poll::Pending;
        }
        if self.wire.is_tired() {
            return Poll::Ready(Heard::Nap);
        }
        self.wire.line.desk.timeouts.read.inc();
        Poll::Ready(Heard::Lost)
    }

    /// Whether no more requests are wanted.
    pub(super) fn is_leaving(&self) -> bool {
        self.wire.line.pulse.ordered() != Order::Stay
    }

    /// What is to be done for a request while somebody works on it. Ready when there is news for them.
    pub(super) fn attend(
        &mut self,
        feed: &mut Feed,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Gone>> {
        let fed = feed.poll(&mut self.wire, &mut self.out, cx);
        if !self.out.is_empty()
            && let Poll::Ready(Err(_)) = self.out.poll_send(&mut self.wire, cx)
        {
            return Poll::Ready(Err(Gone));
        }
        fed
    }

    /// Writes the head of an answer.
    pub(super) fn begin_answer(&mut self, parts: &Parts, terms: &Terms, body: &impl Body) -> Told {
        let payload = match body.is_end_stream() {
            true => Payload::Nothing,
            false => Payload::Some(body.size_hint().exact()),
        };
        let tell = Tell {
            status: parts.status,
            headers: &parts.headers,
            date: self.today.date(&self.wire.line.desk.clock),
        };
        let told = write_answer(self.out.lead(), &tell, terms, payload);
        self.listed.clear();
        if terms.trailers && told.framing == Framing::Chunked {
            let listed = parts.headers.get_all(TRAILER);
            self.listed.extend(listed.iter().cloned());
        }
        told
    }

    /// Where the next body may lie.
    pub(super) fn seal(&mut self, sealed: Option<Sealed>) {
        self.out.seal(sealed);
    }

    /// Writes the body of an answer behind its head, as it comes; the rest of the request goes on meanwhile.
    pub(super) async fn send<B>(
        &mut self,
        feed: &mut Feed,
        framing: Framing,
        body: B,
        kept_waiting: fn(Pin<&mut B>),
    ) -> Result<(), Broken>
    where
        B: Body<Data = Bytes>,
    {
        let mut body = pin!(Some(body));
        let mut sending = Sending::new(framing);
        poll_fn(|cx| {
            loop {
                let mut waits = false;
                while !waits && !sending.has_ended() && !self.out.is_full() {
                    let Some(here) = body.as_mut().as_pin_mut() else {
                        break;
                    };
                    waits = self.gather(&mut sending, here, cx)?;
                }
                if sending.has_ended() {
                    // All of it is here: whoever made it need not wait until it is written.
                    body.set(None);
                }
                let sent = self.out.poll_send(&mut self.wire, cx);
                if self.wire.line.is_kept_waiting(sent.is_pending())
                    && let Some(here) = body.as_mut().as_pin_mut()
                {
                    kept_waiting(here);
                }
                match sent {
                    Poll::Ready(Ok(())) if sending.has_ended() => return Poll::Ready(Ok(())),
                    Poll::Ready(Ok(())) if !waits => continue,
                    Poll::Ready(Ok(())) | Poll::Pending => {}
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                }
                match feed.poll(&mut self.wire, &mut self.out, cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(Gone)) => return Poll::Ready(Err(Broken)),
                }
            }
        })
        .await
    }

    /// Takes what is here of a body; true if there is more to wait for.
    fn gather<B>(
        &mut self,
        sending: &mut Sending,
        mut body: Pin<&mut B>,
        cx: &mut Context<'_>,
    ) -> Result<bool, Broken>
    where
        B: Body<Data = Bytes>,
    {
        let Poll::Ready(frame) = body.as_mut().poll_frame(cx) else {
            return Ok(true);
        };
        let framed = match frame.transpose().map_err(|_| Broken)? {
            None => sending.end(None, &mut self.out),
            Some(frame) => match frame.into_data() {
                Ok(data) => sending.take(data, body.is_end_stream(), &mut self.out),
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    let trailers = listed_trailers(&trailers, &self.listed);
                    sending.end(Some(&trailers), &mut self.out)
                }
            },
        };
        framed.map(|()| false).map_err(|_| Broken)
    }

    /// The answer has been written; reads what is left of its request, if anybody wants it. Whether another may follow.
    pub(super) async fn finish(&mut self, feed: &mut Feed, keeps: bool) -> bool {
        poll_fn(|cx| feed.poll_end(&mut self.wire, &mut self.out, keeps, cx)).await
    }
}
