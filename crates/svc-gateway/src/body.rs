//! An answer's body: a refusal's own, or an upstream's, which settles the request when it ends.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use concurrency_gate::Outcome;
use http_body::{Body, Frame, SizeHint};
use http_rules::forward::{strip_call_trailers, strip_trailers};
use tokio::time::{Instant, Sleep};
use upstream::{Cause, Reply, SendError};

use crate::heads::Heads;
use crate::journey::Journey;
use crate::reject::Refusal;
use crate::respond::grpc;

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
    /// Whether it is a call: that may then go on as a stream, and its trailers are its own.
    is_call: bool,
    /// When it began.
    began: Duration,
    /// Bytes that have to come for the upstream to be given its time anew.
    enough: u64,
    /// Made when it is first waited for: most bodies come with their head.
    wait: Option<Box<Wait>>,
    /// Nothing was left to wait for when it began.
    came_whole: bool,
    ended: bool,
    /// Why it had to make room for others, until that is said.
    gave_way: Option<Refusal>,
}

/// How an upstream may take its time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// It is a stream: whenever there is something to say.
    Own,
    /// It is silent for no longer than this.
    Steady(Duration),
    /// A call that may be a stream: who is silent for this long is one, and who goes on for as long.
    Calls(Duration),
}

/// Somebody waits for the upstream, or has.
struct Wait {
    alarm: Pin<Box<Sleep>>,
    /// Since when, if somebody does now.
    since: Option<Instant>,
    /// It is the client that is waited for: the upstream may need the rest of the request before it goes on.
    for_client: bool,
    /// What is left of the upstream's time.
    left: Duration,
    /// What has come since it was given.
    bytes: u64,
}

/// A body of declared length is there to be sent: it comes at this pace at least. One without may be made as it goes.
const BYTES_PER_SECOND: u64 = 240;

/// Why an answer broke off after it had begun.
#[derive(Debug, thiserror::Error)]
pub enum BrokenOff {
    /// The upstream's fault.
    #[error("the upstream broke off: {0}")]
    Upstream(SendError),
    /// The rest of its request was no good.
    #[error("the rest of its request could not be sent on: {0}")]
    Request(&'static str),
    /// The upstream said nothing for too long.
    #[error("the upstream fell silent")]
    Silent,
    /// It would have gone on for long, and there may be no more of that.
    #[error("it could not go on as a stream: {0}")]
    NoStream(&'static str),
}

impl Answer {
    pub(crate) fn passing(mut reply: Reply, journey: Box<Journey>, pace: Pace) -> Self {
        let patience = match pace {
            Pace::Own => None,
            Pace::Steady(patience) | Pace::Calls(patience) => Some(patience),
        };
        reply.at_leisure();
        let declared = reply.size_hint().exact();
        let enough = |patience: Duration| patience.as_secs().max(1) * BYTES_PER_SECOND;
        let mut passing = Box::new(Passing {
            came_whole: reply.is_whole(),
            reply,
            began: journey.seen,
            journey,
            patience,
            is_call: matches!(pace, Pace::Calls(_)),
            enough: declared.and(patience).map_or(1, enough),
            wait: None,
            ended: false,
            gave_way: None,
        });
        if passing.reply.is_end_stream() {
            passing.journey.finish();
            return Answer::Whole(Bytes::new());
        }
        Answer::Passing(passing)
    }

    /// Its client is slow.
    pub(crate) fn kept_waiting(&mut self) {
        if let Answer::Passing(passing) = self {
            passing.kept_waiting();
        }
    }
}

impl Passing {
    /// A client may read as slowly as it likes, but not in a place that others wait for: it goes on as a stream of its
    /// tenant, or not at all if that has too many.
    fn kept_waiting(&mut self) {
        self.reply.kept_waiting();
        if self.journey.is_in_the_way() {
            self.makes_room();
        }
    }

    fn makes_room(&mut self) {
        if self.ended {
            return;
        }
        match self.journey.goes_on_as_stream(|| self.reply.lend()) {
            Ok(()) if self.is_call => self.patience = None,
            Ok(()) => {}
            Err(refusal) => self.gives_way(refusal),
        }
    }

    /// Its connection goes with its place: whoever gets that is to find one. Its client hears of it when it listens.
    fn gives_way(&mut self, refusal: Refusal) {
        self.ended = true;
        self.reply.give_up();
        self.journey.broke_off(&refusal, None);
        self.gave_way = Some(refusal);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if self.ended {
            let why = self.gave_way.take();
            return Poll::Ready(why.map(|why| self.ends(&why, BrokenOff::NoStream(why.reason()))));
        }
        match Pin::new(&mut self.reply).poll_frame(cx) {
            Poll::Pending => self.wait(cx),
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => {
                self.ended = true;
                tracing::debug!(%error, "an answer broke off");
                Poll::Ready(Some(self.breaks_off(error)))
            }
            Poll::Ready(Some(Ok(frame))) => {
                let frame = self.passed(frame);
                // Nobody asks for more once as much has come as was promised.
                if self.reply.is_end_stream() {
                    self.end();
                } else if self.patience.is_some() && self.journey.is_in_the_way() {
                    self.goes_on(kernel::clock::now());
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    /// Ends early, for a reason that is not the upstream's. A call is told so where it looks for it; over HTTP/1 it may
    /// not get that, and what seems to have ended would look whole.
    fn ends(&self, why: &Refusal, error: BrokenOff) -> Result<Frame<Bytes>, BrokenOff> {
        let heads = self.journey.heads;
        match self.is_call && heads.has(Heads::CALL) && heads.has(Heads::ANY_END) {
            true => Ok(Frame::trailers(grpc::end(why))),
            false => Err(error),
        }
    }

    /// An upstream may need the rest of the request for the rest of its answer: that this did not come is its client's
    /// doing.
    fn breaks_off(&mut self, error: SendError) -> Result<Frame<Bytes>, BrokenOff> {
        let spoiled = match error.cause() {
            Cause::RequestBody => Some(self.journey.spoiled().unwrap_or(Refusal::BodyBroken)),
            _ => None,
        };
        let failed = error.is_failure().then_some(Outcome::Failure);
        let refusal = spoiled.as_ref().unwrap_or(&Refusal::UpstreamReset);
        self.journey.broke_off(refusal, failed);
        match spoiled {
            Some(refusal) => self.ends(&refusal, BrokenOff::Request(refusal.reason())),
            None => Err(BrokenOff::Upstream(error)),
        }
    }

    /// Whether it is waited for or its client is slower than it.
    fn goes_on(&mut self, now: Instant) {
        let lasts = self.journey.at(now).saturating_sub(self.began);
        if self.journey.has_had_its_turn(lasts) {
            self.makes_room();
        }
    }

    /// What came whole with its head took the upstream no longer than that.
    fn end(&mut self) {
        self.ended = true;
        if !self.came_whole {
            self.journey.look();
        }
        self.journey.finish();
    }

    fn passed(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        if let Some(data) = frame.data_ref() {
            let bytes = data.len() as u64;
            self.journey.bytes += bytes;
            if let (Some(wait), Some(patience)) = (&mut self.wait, self.patience) {
                wait.came(bytes, self.enough, patience);
            }
            return frame;
        }
        match frame.into_trailers() {
            Ok(mut trailers) => {
                match self.is_call {
                    true => strip_call_trailers(&mut trailers),
                    false => strip_trailers(&mut trailers),
                }
                if let Some(route) = &self.journey.route {
                    route.answer_names.strip(&mut trailers);
                }
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
        let for_client = self.reply.lacks_request();
        let wait = self.wait.get_or_insert_with(|| Wait::new(patience));
        let begins = wait.since.is_none();
        let polled = wait.poll(for_client, patience, cx);
        let since = wait.since;
        let lasts = since.map_or(Duration::ZERO, |since| self.journey.at(since));
        let lasts = lasts.saturating_sub(self.began);
        let is_stream = self.is_call && (polled.is_ready() || begins && lasts >= patience);
        if is_stream {
            match self.journey.becomes_stream(|| self.reply.lend()) {
                Ok(()) => {
                    self.patience = None;
                    return Poll::Pending;
                }
                // It is quiet as others are that may be: no fault of its upstream.
                Err(refusal) if polled.is_ready() && !for_client => {
                    self.gives_way(refusal);
                    return self.poll(cx);
                }
                Err(_) => {}
            }
        }
        if let (Poll::Pending, Some(since)) = (polled, since) {
            self.goes_on(since);
            return match self.ended {
                true => self.poll(cx),
                false => Poll::Pending,
            };
        }
        if for_client {
            return self.wait_on(cx);
        }
        self.ended = true;
        self.reply.fell_silent();
        let failed = Some(Outcome::Failure);
        self.journey.broke_off(&Refusal::DeadlineUpstream, failed);
        Poll::Ready(Some(Err(BrokenOff::Silent)))
    }

    /// The door bounds how long a client has for its request; here it may only be in the way.
    fn wait_on(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if self.journey.is_in_the_way() {
            self.makes_room();
        }
        if let Some(wait) = &mut self.wait {
            wait.since = None;
        }
        self.poll(cx)
    }
}

impl Wait {
    fn new(patience: Duration) -> Box<Self> {
        Box::new(Self {
            alarm: Box::pin(tokio::time::sleep(patience)),
            since: None,
            for_client: false,
            left: patience,
            bytes: 0,
        })
    }

    /// Ready when the upstream has used up its time, or a client who is waited for as much. Once it has all of the
    /// request the upstream has its time anew.
    fn poll(&mut self, for_client: bool, patience: Duration, cx: &mut Context<'_>) -> Poll<()> {
        if self.since.is_none() || self.for_client != for_client {
            if self.for_client || for_client {
                self.left = patience;
            }
            self.for_client = for_client;
            let now = kernel::clock::now();
            self.since = Some(now);
            self.alarm.as_mut().reset(now + self.left);
        }
        self.alarm.as_mut().poll(cx)
    }

    /// Something came: that gives the upstream its time anew, if it was enough.
    fn came(&mut self, bytes: u64, enough: u64, patience: Duration) {
        self.bytes += bytes;
        let waited = self.since.take().map(|since| kernel::clock::now() - since);
        if self.for_client || self.bytes >= enough {
            (self.bytes, self.left) = (0, patience);
        } else {
            self.left = self.left.saturating_sub(waited.unwrap_or_default());
        }
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
            Answer::Passing(passing) => passing.ended && passing.gave_way.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Answer::Whole(whole) => SizeHint::with_exact(whole.len() as u64),
            Answer::Passing(passing) => passing.reply.size_hint(),
        }
    }
}
