//! Sending a request on: to one endpoint, and to another where that is safe, inside deadline and budget.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderMap;
use http::{HeaderName, Method, Response, StatusCode, Uri};
use http_rules::deadline;
use http1_wire::spare;
use kernel::backoff::Backoff;
use tokio::time::Instant;
use upstream::{Ask, Cause, Field, NoEndpoint, Reply, SendError, Stage, Tried};

use crate::backend::Backend;
use crate::intake::{Payload, Verdict};
use crate::plan::Route;
use crate::reject::Refusal;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Between two tries.
const BACKOFF: Backoff = Backoff {
    first_min: Duration::from_millis(50),
    first_max: Duration::from_millis(100),
    cap: Duration::from_secs(2),
};

/// Goodbyes of connections that a request may meet, besides its tries: a server that takes few requests on each says
/// many, and has looked at nothing. One that takes none on a connection fails, and has said no goodbye.
const GOODBYES: u32 = 10;

/// How often somebody with a place waits for a connection, for this long first and each time for twice as long.
const TURNS: u32 = 6;
const TURN: Duration = Duration::from_millis(1);

/// A request as it is to be sent on.
pub(crate) struct Call<'a> {
    /// Lent, unless a worker sends it: to be counted is not free.
    pub(crate) backend: Cow<'a, Arc<Backend>>,
    pub(crate) route: Cow<'a, Arc<Route>>,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    /// Said besides.
    pub(crate) more: Vec<Field<'a>>,
    pub(crate) payload: Payload,
    /// Says what was wrong with a body that was sent as it came.
    pub(crate) verdict: Option<Arc<Verdict>>,
    /// When it is first sent.
    pub(crate) begins: Instant,
    pub(crate) until: Instant,
    /// Its caller chose to wait for less time than the route gives an upstream.
    pub(crate) hasty: bool,
    /// What decides where it goes, for upstreams that choose by it.
    pub(crate) hash: Option<u64>,
}

/// Its fields have come to their end: the next head takes their room.
impl Drop for Call<'_> {
    fn drop(&mut self) {
        spare::put_fields(std::mem::take(&mut self.headers));
    }
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) answer: Result<Box<Response<Reply>>, Refusal>,
    pub(crate) tries: u32,
    /// How long connections were being opened for tries before the one that was answered, or all of them.
    pub(crate) connecting: Option<Duration>,
}

impl Call<'_> {
    /// Whether doing it twice does no harm: the method says so, or the caller does where the route believes it.
    pub(crate) fn is_repeatable(&self) -> bool {
        let all_here = matches!(self.payload, Payload::Empty | Payload::Whole(_));
        all_here && may_repeat(&self.method, &self.headers, &self.route)
    }

    fn payload_again(&self) -> Option<Payload> {
        match &self.payload {
            Payload::Empty => Some(Payload::Empty),
            Payload::Whole(whole) => Some(Payload::Whole(whole.clone())),
            Payload::Kept(kept) => Some(Payload::Kept(kept.again())),
            Payload::Stream(_) => None,
        }
    }

    /// The same once more, if its body is all here.
    pub(crate) fn again(&self) -> Option<Self> {
        Some(Self {
            backend: self.backend.clone(),
            route: self.route.clone(),
            method: self.method.clone(),
            uri: self.uri.clone(),
            headers: self.headers.clone(),
            more: self.more.clone(),
            payload: self.payload_again()?,
            verdict: None,
            begins: self.begins,
            until: self.until,
            hasty: self.hasty,
            hash: self.hash,
        })
    }

    /// The same, for who may outlive those it was lent by.
    pub(crate) fn owned(mut self) -> Call<'static> {
        Call {
            backend: Cow::Owned(Arc::clone(&self.backend)),
            route: Cow::Owned(Arc::clone(&self.route)),
            method: std::mem::take(&mut self.method),
            uri: std::mem::take(&mut self.uri),
            headers: std::mem::take(&mut self.headers),
            more: std::mem::take(&mut self.more)
                .into_iter()
                .map(|(name, value)| (name, Cow::Owned(value.into_owned())))
                .collect(),
            payload: std::mem::replace(&mut self.payload, Payload::Empty),
            verdict: self.verdict.take(),
            begins: self.begins,
            until: self.until,
            hasty: self.hasty,
            hash: self.hash,
        }
    }

    /// The body for one try: a copy of it where it may be needed again.
    fn payload_for_one(&mut self) -> Payload {
        let copied = self.payload_again();
        copied.unwrap_or_else(|| std::mem::replace(&mut self.payload, Payload::Empty))
    }

    /// Whether this is worth another try. Who has not been heard, though all of it may have been said, may ask again
    /// whatever it asks for.
    fn may_go_again(&self, failed: &Failed, once: bool) -> bool {
        let here = match &self.payload {
            Payload::Kept(kept) => kept.is_whole(),
            _ => !once,
        };
        let harmless = || failed.unheard() || may_repeat(&self.method, &self.headers, &self.route);
        failed.nothing_sent() || here && harmless()
    }

    /// Whether somebody else can be asked who has not been yet.
    fn has_another(&self, tried: &Tried) -> bool {
        let pool = &self.backend.body.pool;
        pool.has_another(kernel::clock::now(), tried)
    }

    /// Sends it until there is an answer, or no sense in trying again.
    pub(crate) async fn send(&mut self) -> Outcome {
        let once = matches!(self.payload, Payload::Stream(_));
        let body = &self.backend.body;
        body.budget.earn(body.timeline.at(self.begins));
        let mut tried = Tried::default();
        let (mut tries, mut goodbyes, mut turns) = (0, 0, 0);
        let mut connecting = None;
        let mut now = self.begins;
        loop {
            tries += 1;
            let failed = match self.attempt(now, &tried).await {
                Attempt::Answered(answer) => {
                    return Outcome {
                        answer: Ok(answer),
                        tries,
                        connecting,
                    };
                }
                Attempt::NoEndpoint(Refusal::ConnectionsFull) if self.is_worth_a_turn(turns) => {
                    tokio::time::sleep(TURN * (1 << turns)).await;
                    (turns, tries, now) = (turns + 1, tries - 1, kernel::clock::now());
                    continue;
                }
                Attempt::NoEndpoint(refusal) => {
                    return Outcome {
                        answer: Err(refusal),
                        tries,
                        connecting,
                    };
                }
                Attempt::Failed(failed) => failed,
            };
            if let Err(error) = &failed.0 {
                tried.note(error);
            }
            if let Some(more) = failed.connecting() {
                let before: Duration = connecting.unwrap_or_default();
                connecting = Some(before + more);
            }
            let elsewhere = failed.unheard() && self.has_another(&tried);
            let pause = failed.pause(tries - goodbyes, elsewhere);
            // Another endpoint can have what this one could not be sent: nobody is asked twice by that, so that it is
            // no load that a budget would have to bound.
            let steps_over = elsewhere && failed.nothing_sent();
            let free = failed.is_goodbye() && goodbyes < GOODBYES;
            goodbyes += u32::from(free);
            let again = (free || tries - goodbyes < self.route.retry.tries)
                && self.may_go_again(&failed, once)
                && kernel::clock::now() + pause < self.until
                && (free || steps_over || failed.is_worn() || self.backend.body.budget.spend());
            if !again {
                self.answered();
                return Outcome {
                    connecting,
                    answer: failed.0.map_err(|error| self.refusal(&error)),
                    tries,
                };
            }
            self.backend.metrics.retries.inc();
            drop(failed);
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            self.say_what_is_left();
            now = kernel::clock::now();
        }
    }

    /// There are no more places than connections, but one may be a moment late: that of an answer that was broken off,
    /// or of a health check.
    fn is_worth_a_turn(&self, turns: u32) -> bool {
        turns < TURNS && self.backend.body.has_room()
    }

    /// An upstream that is told more time than there is works on for nobody. What a route says itself stands.
    pub(crate) fn say_what_is_left(&mut self) {
        let left = self.until.saturating_duration_since(kernel::clock::now());
        let said = self
            .more
            .iter_mut()
            .find(|(name, _)| *name == deadline::REQUEST_TIMEOUT);
        if let Some((_, said)) = said {
            *said = Cow::Owned(deadline::request_timeout(left));
            return;
        }
        let edits = &self.route.request_edits;
        let fixed = |name: &HeaderName| edits.set(name);
        deadline::renew(&mut self.headers, left, kernel::clock::unix_time, fixed);
    }

    /// One try. The head is lent; of the body, what may be needed again is kept.
    async fn attempt(&mut self, now: Instant, tried: &Tried) -> Attempt {
        let pool = &self.backend.body.pool;
        let pick = match self.hasty {
            false => pool.pick(now, self.hash, tried),
            true => pool.pick_in_haste(now, self.hash, tried),
        };
        let pick = match pick {
            Ok(pick) => pick,
            Err(none) => return Attempt::NoEndpoint(no_endpoint(none)),
        };
        let ready = match pick.rested() {
            Ok(ready) => ready,
            Err(pick) => match pick.connect(self.until).await {
                Ok(ready) => ready,
                // Somebody else was a moment quicker to open the last one.
                Err(error) if error.cause() == Cause::Busy => {
                    return Attempt::NoEndpoint(Refusal::ConnectionsFull);
                }
                Err(error) => return Attempt::Failed(Failed(Err(error))),
            },
        };
        let payload = self.payload_for_one();
        let ask = Ask {
            method: &self.method,
            uri: &self.uri,
            headers: &self.headers,
            more: &self.more,
        };
        let sent = ready.ask(ask, payload, self.until).await.map(Box::new);
        if sent.as_ref().is_ok_and(|answer| says_overrun(answer)) {
            let body = &self.backend.body;
            body.slots.overrun(body.timeline.at(now));
        }
        match sent {
            Ok(answer) if !self.route.retry.on_status.contains(&answer.status()) => {
                self.answered();
                Attempt::Answered(answer)
            }
            other => Attempt::Failed(Failed(other)),
        }
    }

    /// What is left of the body may take its time, and nothing of it is needed again.
    fn answered(&self) {
        if let Some(verdict) = &self.verdict {
            verdict.answered();
        }
        if let Payload::Kept(kept) = &self.payload {
            kept.forget();
        }
    }

    /// What took too long was a connection, not the request.
    fn is_not_late(&self, error: &SendError) -> bool {
        error.stage() <= Stage::Handshake && kernel::clock::now() < self.until
    }

    fn refusal(&self, error: &SendError) -> Refusal {
        tracing::debug!(%error, upstream = %self.backend.name, "an upstream gave no answer");
        let spoiled = self.verdict.as_ref().and_then(|verdict| verdict.get());
        spoiled.unwrap_or(match error.cause() {
            Cause::RequestBody => Refusal::BodyBroken,
            Cause::KeptWaiting => Refusal::BodySlow,
            Cause::Busy => Refusal::ConnectionsFull,
            Cause::Timeout if self.is_not_late(error) => Refusal::ConnectTimeout,
            Cause::Timeout => Refusal::DeadlineUpstream,
            Cause::Forbidden | Cause::Unreachable | Cause::Untrusted => Refusal::Unreachable,
            Cause::Garbage => Refusal::UpstreamGarbage,
            Cause::Oversized => Refusal::UpstreamHead,
            Cause::Stale | Cause::Closed | Cause::Short | Cause::StreamReset => {
                Refusal::UpstreamReset
            }
        })
    }
}

/// Whether an answer says that the upstream has too much to do. That a caller asks for too much is another thing.
fn says_overrun(answer: &Response<Reply>) -> bool {
    answer.status() == StatusCode::SERVICE_UNAVAILABLE
}

/// What came of one try.
enum Attempt {
    Answered(Box<Response<Reply>>),
    Failed(Failed),
    NoEndpoint(Refusal),
}

/// A try that went wrong, or got an answer that says so.
struct Failed(Result<Box<Response<Reply>>, SendError>);

impl Failed {
    /// How long a connection was being opened for it.
    fn connecting(&self) -> Option<Duration> {
        match &self.0 {
            Ok(answer) => answer.body().timing().connect,
            Err(error) => error.connecting(),
        }
    }

    /// Whether the request is still here, untouched.
    fn nothing_sent(&self) -> bool {
        let before_sending = |error: &SendError| error.stage() <= Stage::Handshake;
        self.0.as_ref().is_err_and(before_sending)
    }

    /// Whether nobody has looked at it, though it may have been sent.
    fn unheard(&self) -> bool {
        self.0
            .as_ref()
            .is_err_and(|error| !error.may_have_reached())
    }

    /// Whether a connection said goodbye before it was heard, which is nobody's failure and no load on anybody.
    fn is_goodbye(&self) -> bool {
        let goodbye = |error: &SendError| error.is_stale() && !error.may_have_reached();
        self.0.as_ref().is_err_and(goodbye)
    }

    /// Whether a connection that had served others turned out to be closed. The next try opens one of its own, so
    /// that a request meets this once, and there are no more such tries than answers.
    fn is_worn(&self) -> bool {
        let worn = |error: &SendError| error.is_stale() && error.may_have_reached();
        self.0.as_ref().is_err_and(worn)
    }

    /// How long to wait: not at all where nothing was wrong but an old connection, or where somebody `elsewhere` is
    /// asked. Who alone could be asked and was not there needs time to come back.
    fn pause(&self, tries: u32, elsewhere: bool) -> Duration {
        match &self.0 {
            Err(error) if error.is_stale() || elsewhere => Duration::ZERO,
            _ => BACKOFF.delay(tries - 1, fastrand::f64()),
        }
    }
}

/// Whether a request may be sent twice, as far as its head says.
pub(crate) fn may_repeat(method: &Method, headers: &HeaderMap, route: &Route) -> bool {
    route.retry.tries > 1
        && (method.is_idempotent()
            || (route.retry.idempotency_key && headers.contains_key(IDEMPOTENCY_KEY)))
}

fn no_endpoint(none: NoEndpoint) -> Refusal {
    match none {
        NoEndpoint::AllOpen { retry_after } => Refusal::BreakerOpen(retry_after),
        NoEndpoint::NoneHealthy => Refusal::NoEndpoint,
        NoEndpoint::NoneResolved => Refusal::Unreachable,
        NoEndpoint::AllBusy => Refusal::ConnectionsFull,
    }
}
