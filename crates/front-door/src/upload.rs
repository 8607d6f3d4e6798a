//! The body of a request, with the pace its sender has to keep.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use thiserror::Error;

use crate::line::Line;
use crate::pulse::{Stance, Watched};

/// The body of a request.
///
/// Its sender may keep it waiting for so long, and has to bring so many bytes in that time; time in which nobody asks
/// for more does not count.
pub struct Upload {
    incoming: Incoming,
    pace: Option<Pace>,
}

/// Why a request's body cannot be read to its end.
#[derive(Debug, Error)]
pub enum UploadError {
    /// It came too slowly; 408.
    #[error("the body came too slowly")]
    TooSlow,
    /// It is not what its framing says; 400.
    #[error("the body is malformed: {0}")]
    Malformed(hyper::Error),
    /// The client went away, or gave the request up.
    #[error("the client went away: {0}")]
    Gone(hyper::Error),
}

struct Pace {
    line: Arc<Line>,
    /// Made when the first piece is waited for: most bodies come with their head.
    pulse: Option<Watched>,
    /// Since which tick somebody waits; 0 for nobody.
    since: u32,
    /// Ticks waited since the last time enough had come.
    waited: u32,
    /// Bytes that have come in that time.
    bytes: u64,
}

impl Upload {
    pub(crate) fn new(incoming: Incoming, line: &Arc<Line>) -> Self {
        let pace = (!incoming.is_end_stream()).then(|| Pace {
            line: line.clone(),
            pulse: None,
            since: 0,
            waited: 0,
            bytes: 0,
        });
        Self { incoming, pace }
    }

    /// Lets the sender take its time, as in a stream of messages that come when there is something to say.
    pub fn unhurried(&mut self) {
        self.pace = None;
    }
}

impl Pace {
    fn wait(&mut self, cx: &Context<'_>) -> Poll<()> {
        let clock = &self.line.desk.clock;
        let pulse = self.pulse.get_or_insert_with(|| clock.watch(Stance::Busy));
        if pulse.read.passed() {
            return Poll::Ready(());
        }
        pulse.belongs_to(cx.waker());
        if self.since == 0 {
            self.since = clock.now();
            let left = self.line.patience.body.saturating_sub(self.waited);
            pulse.read.set(clock, left);
        }
        Poll::Pending
    }

    fn came(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if let Some(pulse) = &self.pulse
            && self.since != 0
        {
            pulse.read.clear();
            self.waited += self.line.desk.clock.now() - self.since;
            self.since = 0;
        }
        if self.bytes >= self.line.patience.body_bytes {
            (self.bytes, self.waited) = (0, 0);
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.incoming).poll_frame(cx);
        let Some(pace) = &mut this.pace else {
            return polled.map_err(UploadError::from);
        };
        match polled {
            Poll::Ready(Some(Ok(frame))) => {
                pace.came(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(ended) => {
                this.pace = None;
                Poll::Ready(ended.map(|ended| ended.map_err(UploadError::from)))
            }
            Poll::Pending => {
                ready!(pace.wait(cx));
                pace.line.desk.timeouts.read.inc();
                this.pace = None;
                Poll::Ready(Some(Err(UploadError::TooSlow)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl From<hyper::Error> for UploadError {
    fn from(error: hyper::Error) -> Self {
        // A body that ends early is a client that went away; one that cannot be parsed is told so.
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            return Self::Gone(error);
        }
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            if let Some(io) = cause.downcast_ref::<std::io::Error>() {
                use std::io::ErrorKind::{InvalidData, InvalidInput};
                return match io.kind() {
                    InvalidData | InvalidInput => Self::Malformed(error),
                    _ => Self::Gone(error),
                };
            }
            source = cause.source();
        }
        Self::Gone(error)
    }
}
