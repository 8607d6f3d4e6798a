//! The body of a response: what came with the head is there at once, the rest as it comes.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use kernel::clock;
use tokio::time::Instant;

use crate::channel::Channel;
use crate::error::{Cause, SendError, Stage};
use crate::fault::{self, Broken};
use crate::io::Lent;
use crate::pick::{Ready, Timing};
use crate::record::Verdict;
use crate::switched::Switched;

/// A response's body. When it has been read to its end the connection goes back; dropped before, it is closed.
pub struct Reply {
    /// What is here already: the first data, and what follows it. A body that is small and whole is only the former,
    /// and all of this is moved many times on its way.
    first: Option<Bytes>,
    second: Option<Box<Frame<Bytes>>>,
    rest: Option<Box<Rest>>,
    switched: Option<Box<Switched>>,
    timing: Timing,
}

/// What has yet to come, and from where.
struct Rest {
    ready: Ready,
    /// What its endpoint has deserved if it goes on as it began.
    verdict: Verdict,
    /// When whoever waits for it may blame the endpoint; never where the reader says so itself.
    until: Option<Instant>,
    /// Its reader has once not taken for long what was here.
    kept_waiting: bool,
}

impl Reply {
    pub(crate) fn empty(timing: Timing) -> Self {
        Self {
            first: None,
            second: None,
            rest: None,
            switched: None,
            timing,
        }
    }

    pub(crate) fn switched(timing: Timing, switched: Switched) -> Self {
        Self {
            switched: Some(Box::new(switched)),
            ..Self::empty(timing)
        }
    }

    /// The connection itself, if the upstream has agreed to speak another protocol on it.
    pub fn take_switched(&mut self) -> Option<Box<Switched>> {
        self.switched.take()
    }

    /// Takes what came along with the head; with a small response that is all of it.
    pub(crate) fn begin(
        ready: Ready,
        verdict: Verdict,
        until: Instant,
        now: Instant,
    ) -> Result<Self, SendError> {
        let mut reply = Self::empty(ready.timing);
        let mut rest = Rest {
            ready,
            verdict,
            until: Some(until),
            kept_waiting: false,
        };
        for _ in 0..2 {
            match rest.at_hand()? {
                Next::Frame(frame) => reply.keep(frame),
                Next::Later => return Ok(reply.with(rest, now)),
                Next::End => return rest.end(now, true).map(|()| reply),
            }
        }
        if rest.ready.channel.is_done() {
            return rest.end(now, true).map(|()| reply);
        }
        Ok(reply.with(rest, now))
    }

    fn keep(&mut self, frame: Frame<Bytes>) {
        match frame.into_data() {
            Ok(data) if self.first.is_none() => self.first = Some(data),
            Ok(data) => self.second = Some(Box::new(Frame::data(data))),
            Err(trailers) => self.second = Some(Box::new(trailers)),
        }
    }

    /// From here on the endpoint owes something only while somebody waits for it.
    fn with(mut self, mut rest: Rest, now: Instant) -> Self {
        rest.ready.lease.owes(None);
        rest.ready.lease.is_answered(now, rest.verdict);
        self.rest = Some(Box::new(rest));
        self
    }

    /// Whether all of it is here: nobody waits for the endpoint any more.
    pub fn is_whole(&self) -> bool {
        self.rest.is_none()
    }

    /// Whoever reads it bounds the time from here on, and [says](Self::fell_silent) when that is over. To leave it says
    /// nothing about the endpoint then, however late that is: a stream may last for longer than its head was given.
    pub fn at_leisure(&mut self) {
        if let Some(rest) = &mut self.rest {
            rest.until = None;
        }
    }

    /// Whether it is the rest of the request that is waited for, which the endpoint may need before it goes on.
    pub fn lacks_request(&self) -> bool {
        let rest = self.rest.as_ref();
        rest.is_some_and(|rest| rest.ready.channel.lacks_body())
    }

    /// What is here has not been taken for long: that the endpoint leaves says nothing about it from now on.
    pub fn kept_waiting(&mut self) {
        if let Some(rest) = &mut self.rest {
            rest.kept_waiting = true;
        }
    }

    /// What is read here is kept for long. `None` where it has no connection to itself, or nothing is left of it.
    pub fn lend(&self) -> Option<Lent> {
        let rest = self.rest.as_ref()?;
        match &rest.ready.channel {
            Channel::Line(line) => Some(line.lend()),
            Channel::Stream(_) => None,
        }
    }

    /// Nobody reads on: what carries it ends, which says nothing about the endpoint.
    pub fn give_up(&mut self) {
        *self = Self::empty(self.timing);
    }

    /// The endpoint was waited for as long as anybody waits.
    pub fn fell_silent(&mut self) {
        if let Some(rest) = &mut self.rest {
            rest.ready.lease.settle(clock::now(), Verdict::Failure);
        }
    }

    /// How long the parts of this try took.
    pub fn timing(&self) -> Timing {
        self.timing
    }
}

/// What there is to read without waiting.
enum Next {
    Frame(Frame<Bytes>),
    Later,
    End,
}

impl Rest {
    /// The next frame if it is here; an error ends the try.
    fn at_hand(&mut self) -> Result<Next, SendError> {
        if self.ready.channel.is_done() {
            return Ok(Next::End);
        }
        match self.ready.channel.frame_at_hand() {
            Poll::Ready(Some(Ok(frame))) => Ok(Next::Frame(frame)),
            Poll::Ready(Some(Err(error))) => Err(self.failed(error)),
            Poll::Ready(None) => Ok(Next::End),
            Poll::Pending => Ok(Next::Later),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, SendError>>> {
        let polled = self.ready.channel.poll_frame(cx);
        // Only who waits for the endpoint may blame it for the time.
        let owed = self.until.filter(|_| polled.is_pending());
        self.ready.lease.owes(owed);
        polled.map(|frame| frame.map(|frame| frame.map_err(|error| self.failed(error))))
    }

    fn failed(&mut self, error: Broken) -> SendError {
        let mut seen = self.ready.channel.seen();
        seen.kept_waiting |= self.kept_waiting;
        let error = fault::of_body(self.ready.lease.endpoint(), error, seen);
        self.ready.lease.fail(clock::now(), &error);
        error
    }

    /// All has come. An answer that nobody has seen yet may still be refused for what follows it on the wire.
    fn end(self, now: Instant, unseen: bool) -> Result<(), SendError> {
        let Ready {
            mut lease, channel, ..
        } = self.ready;
        if let Channel::Line(mut line) = channel {
            let endpoint = lease.endpoint();
            line.end();
            if line.is_ready() {
                endpoint.idle.put(line, now);
            } else if unseen && line.spoke_out_of_turn() {
                let excess = SendError::new(Stage::Body, Cause::Garbage, true, endpoint);
                lease.settle(now, Verdict::Failure);
                return Err(excess.because("more bytes than the length that was declared"));
            }
        }
        lease.settle(now, self.verdict);
        Ok(())
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = SendError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, SendError>>> {
        let this = &mut *self;
        if let Some(data) = this.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        if let Some(frame) = this.second.take() {
            return Poll::Ready(Some(Ok(*frame)));
        }
        let Some(rest) = &mut this.rest else {
            return Poll::Ready(None);
        };
        let polled = rest.poll(cx);
        let over = match &polled {
            Poll::Ready(Some(Ok(_))) => rest.ready.channel.is_done(),
            Poll::Ready(_) => true,
            Poll::Pending => false,
        };
        if over && let Some(rest) = this.rest.take() {
            let _seen = rest.end(clock::now(), false);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none() && self.first.is_none() && self.second.is_none()
    }

    /// Exact only where no trailers follow: who is told a length has no place for them.
    fn size_hint(&self) -> SizeHint {
        let mut hint = match &self.rest {
            Some(rest) => rest.ready.channel.size_hint(),
            None => SizeHint::with_exact(0),
        };
        let mut ahead = self.first.as_ref().map_or(0, Bytes::len) as u64;
        let mut trailers = false;
        if let Some(frame) = &self.second {
            ahead += frame.data_ref().map_or(0, |data| data.len() as u64);
            trailers = frame.is_trailers();
        }
        match hint.exact().filter(|_| !trailers) {
            Some(rest) => hint.set_exact(rest + ahead),
            None => {
                hint = SizeHint::default();
                hint.set_lower(ahead);
            }
        }
        hint
    }
}
