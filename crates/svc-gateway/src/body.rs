//! An answer's body: a refusal's own, or an upstream's, which settles the request when it ends.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_rules::forward::strip_trailers;
use tokio::time::Sleep;
use upstream::{Reply, SendError};

use crate::journey::Journey;
use crate::reject::Refusal;

/// The body of an answer.
pub enum Answer {
    /// All of it is here.
    Whole(Bytes),
    /// It comes from an upstream.
    Passing(Box<Passing>),
}

/// A body that passes from an upstream to a client.
pub struct Passing {
    reply: Reply,
    journey: Box<Journey>,
    /// How long the upstream may be silent; `None` for what is meant to be.
    patience: Option<Duration>,
    /// Made when it is first waited for: most bodies come with their head.
    alarm: Option<Pin<Box<Sleep>>>,
    waiting: bool,
    ended: bool,
}

/// Why an answer broke off after it had begun.
#[derive(Debug, thiserror::Error)]
pub enum BrokenOff {
    /// The upstream's fault.
    #[error("the upstream broke off: {0}")]
    Upstream(SendError),
    /// The upstream said nothing for too long.
    #[error("the upstream fell silent")]
    Silent,
}

impl Answer {
    pub(crate) fn passing(reply: Reply, journey: Box<Journey>, patience: Option<Duration>) -> Self {
        let mut passing = Box::new(Passing {
            reply,
            journey,
            patience,
            alarm: None,
            waiting: false,
            ended: false,
        });
        if passing.reply.is_end_stream() {
            passing.journey.finish();
            return Answer::Whole(Bytes::new());
        }
        Answer::Passing(passing)
    }
}

impl Passing {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match Pin::new(&mut self.reply).poll_frame(cx) {
            Poll::Pending => self.wait(cx),
            Poll::Ready(None) => {
                self.ended = true;
                self.journey.finish();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => {
                self.ended = true;
                tracing::debug!(%error, "an answer broke off");
                self.journey.broke_off(&Refusal::UpstreamReset);
                Poll::Ready(Some(Err(BrokenOff::Upstream(error))))
            }
            Poll::Ready(Some(Ok(frame))) => {
                self.waiting = false;
                let frame = self.passed(frame);
                // Nobody asks for more once as much has come as was promised.
                if self.reply.is_end_stream() {
                    self.ended = true;
                    self.journey.finish();
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn passed(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        if let Some(data) = frame.data_ref() {
            self.journey.bytes += data.len() as u64;
            return frame;
        }
        match frame.into_trailers() {
            Ok(mut trailers) => {
                strip_trailers(&mut trailers);
                Frame::trailers(trailers)
            }
            Err(frame) => frame,
        }
    }

    /// Only time in which somebody waits for the upstream counts: a client that reads slowly is the door's business.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let Some(patience) = self.patience else {
            return Poll::Pending;
        };
        let until = || kernel::clock::now() + patience;
        let alarm = self
            .alarm
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until())));
        if !std::mem::replace(&mut self.waiting, true) {
            alarm.as_mut().reset(until());
        }
        ready!(alarm.as_mut().poll(cx));
        self.ended = true;
        self.journey.broke_off(&Refusal::DeadlineUpstream);
        Poll::Ready(Some(Err(BrokenOff::Silent)))
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match self.get_mut() {
            Answer::Whole(whole) if whole.is_empty() => Poll::Ready(None),
            Answer::Whole(whole) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(whole))))),
            Answer::Passing(passing) => passing.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Answer::Whole(whole) => whole.is_empty(),
            Answer::Passing(passing) => passing.ended,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Answer::Whole(whole) => SizeHint::with_exact(whole.len() as u64),
            Answer::Passing(passing) => passing.reply.size_hint(),
        }
    }
}
