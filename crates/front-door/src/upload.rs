//! The body of a request, with the pace its sender has to keep.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use thiserror::Error;

use crate::h1::Receiver;
use crate::h2::Outflow;
use crate::line::Line;
use crate::pulse::{Stance, Watched};

/// The body of a request.
///
/// Its sender may keep it waiting for so long, and has to bring so many bytes in that time; time in which nobody asks
/// for more does not count.
pub struct Upload {
    source: Source,
    pace: Option<Pace>,
}

enum Source {
    /// All of it is here.
    Whole(Bytes),
    /// Its connection hands it over in pieces.
    Handed(Handed),
    /// Another protocol than HTTP brings it, and keeps its sender's pace itself.
    Fed(Pin<Box<dyn Body<Data = Bytes, Error = UploadError> + Send>>),
}

/// A body that is handed over in pieces.
struct Handed {
    from: Giver,
    /// Bytes still to come, where that was said.
    left: Option<u64>,
    ended: bool,
}

enum Giver {
    /// Read when it is asked for.
    H1(Receiver),
    /// Read as it comes, within its window.
    H2(Outflow),
}

type BoxError = Box<dyn Error + Send + Sync>;

/// Why a request's body cannot be read to its end.
#[derive(Debug, Error)]
pub enum UploadError {
    /// It came too slowly; 408.
    #[error("the body came too slowly")]
    TooSlow,
    /// It is not what its framing says; 400.
    #[error("the body is malformed: {0}")]
    Malformed(BoxError),
    /// The client went away, or gave the request up.
    #[error("the client went away: {0}")]
    Gone(BoxError),
}

impl UploadError {
    pub(crate) fn gone(why: impl Into<BoxError>) -> Self {
        Self::Gone(why.into())
    }
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
    /// None at all.
    pub(crate) fn nothing() -> Self {
        Self::whole(Bytes::new())
    }

    /// One that came with its head.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self {
            source: Source::Whole(bytes),
            pace: None,
        }
    }

    /// One that its connection reads, of this length if that was said.
    pub(crate) fn mailed(mail: Receiver, length: Option<u64>, line: &Arc<Line>) -> Self {
        Self::handed(Giver::H1(mail), length, line)
    }

    /// One of an HTTP/2 stream.
    pub(crate) fn streamed(flow: Outflow, length: Option<u64>, line: &Arc<Line>) -> Self {
        Self::handed(Giver::H2(flow), length, line)
    }

    fn handed(from: Giver, length: Option<u64>, line: &Arc<Line>) -> Self {
        let handed = Handed {
            from,
            left: length,
            ended: false,
        };
        Self {
            source: Source::Handed(handed),
            pace: Some(Pace::new(line)),
        }
    }

    /// One that another protocol than HTTP brings, and whose sender's pace that protocol keeps.
    pub fn fed(body: impl Body<Data = Bytes, Error = UploadError> + Send + 'static) -> Self {
        Self {
            source: Source::Fed(Box::pin(body)),
            pace: None,
        }
    }

    /// Lets the sender take its time, as in a stream of messages that come when there is something to say.
    pub fn unhurried(&mut self) {
        self.pace = None;
    }
}

impl Pace {
    fn new(line: &Arc<Line>) -> Self {
        Self {
            line: line.clone(),
            pulse: None,
            since: 0,
            waited: 0,
            bytes: 0,
        }
    }

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

type Polled = Poll<Option<Result<Frame<Bytes>, UploadError>>>;

impl Handed {
    fn poll_frame(&mut self, cx: &Context<'_>) -> Polled {
        if self.ended {
            return Poll::Ready(None);
        }
        let polled = match &self.from {
            Giver::H1(mail) => mail.poll(cx),
            Giver::H2(flow) => flow.poll(cx),
        };
        let Some((frame, last)) = ready!(polled) else {
            self.ended = true;
            return Poll::Ready(None);
        };
        self.ended = last;
        if let (Some(left), Ok(frame)) = (&mut self.left, &frame) {
            *left -= frame.data_ref().map_or(0, Bytes::len) as u64;
        }
        Poll::Ready(Some(frame))
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let this = &mut *self;
        let polled = match &mut this.source {
            Source::Whole(bytes) => {
                let all = std::mem::take(bytes);
                return Poll::Ready((!all.is_empty()).then(|| Ok(Frame::data(all))));
            }
            Source::Handed(handed) => handed.poll_frame(cx),
            Source::Fed(body) => body.as_mut().poll_frame(cx),
        };
        let Some(pace) = &mut this.pace else {
            return polled;
        };
        match polled {
            Poll::Ready(Some(Ok(frame))) => {
                pace.came(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(ended) => {
                this.pace = None;
                Poll::Ready(ended)
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
        match &self.source {
            Source::Whole(bytes) => bytes.is_empty(),
            Source::Handed(handed) => handed.ended,
            Source::Fed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Source::Handed(handed) => handed
                .left
                .map_or_else(SizeHint::default, SizeHint::with_exact),
            Source::Fed(body) => body.size_hint(),
        }
    }
}
