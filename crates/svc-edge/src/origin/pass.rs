//! Requests that are not for a cache: passed on as they are, and what they change is forgotten.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use http_rules::cache::{ContentRange, Forwarded, Outcome, invalidated};
use http_rules::forward;
use kernel::clock;
use tokio::time::{Instant, Sleep};
use upstream::{BoxError, Reply, SendError, Tried};

use crate::body::{BrokenOff, EdgeBody};
use crate::flight::{Desk, sending};

use super::failure::Failure;
use super::heads;
use super::mount::Target;

/// How long an answer that is passed on may take in all.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a body that are kept until there is an answer, to be sent once more.
const REPEATED: u64 = 64 << 10;
/// Connections in a row that may turn out to have been closed by an origin that tired of waiting.
const STALE_TRIES: usize = 3;

/// Passes a request on, body and all.
pub(crate) async fn pass<B>(
    desk: &Arc<Desk>,
    target: &Target,
    parts: &Parts,
    body: B,
    why: Forwarded,
) -> Result<Response<EdgeBody>, Failure>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let until = clock::now() + target.settings().fill;
    let answer = match whole(&parts.method, body, until).await? {
        Upload::Whole(bytes) => again(desk, target, parts, &bytes, until).await,
        Upload::Streamed(body) => once(desk, target, parts, body, until).await,
    };
    let answer = answer.map_err(|error| error.failure())?;
    let (status, headers) = (answer.status(), answer.headers());
    if status.is_informational() || is_wrong_part(status, headers) {
        return Err(Failure::Wrong);
    }
    let gone = target
        .uri()
        .map(|uri| invalidated(&parts.method, &uri, status, headers));
    for path in gone.into_iter().flatten() {
        let key = target.mount.key_of(target.origin, path);
        desk.forget_one(&key).await;
    }
    desk.metrics.passed.inc();
    Ok(given(desk, answer, why))
}

/// What a client sends.
enum Upload<B> {
    /// May be sent once more.
    Whole(Bytes),
    /// Comes as it comes.
    Streamed(B),
}

/// Reads the body of what may be repeated, if it is small.
async fn whole<B>(method: &Method, body: B, until: Instant) -> Result<Upload<B>, Failure>
where
    B: Body<Data = Bytes>,
{
    let small = body
        .size_hint()
        .upper()
        .is_some_and(|upper| upper <= REPEATED);
    if !method.is_idempotent() || !small {
        return Ok(Upload::Streamed(body));
    }
    let read = tokio::time::timeout_at(until, body.collect()).await;
    let read = read.map_err(|_| Failure::Late)?;
    let read = read.map_err(|_| Failure::Body)?;
    Ok(Upload::Whole(read.to_bytes()))
}

/// Sends it, and again at once where the connection turns out to have been closed meanwhile.
async fn again(
    desk: &Desk,
    target: &Target,
    parts: &Parts,
    bytes: &Bytes,
    until: Instant,
) -> Result<Response<Reply>, Unsent> {
    for _ in 0..STALE_TRIES {
        match once(desk, target, parts, Full::new(bytes.clone()), until).await {
            Err(Unsent::Sending(error)) if error.is_stale() => {}
            done => return done,
        }
    }
    once(desk, target, parts, Full::new(bytes.clone()), until).await
}

/// Why there is no answer.
enum Unsent {
    Failed(Failure),
    Sending(SendError),
}

impl Unsent {
    fn failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Sending(error) => sending::failure(&error),
        }
    }
}

async fn once<B>(
    desk: &Desk,
    target: &Target,
    parts: &Parts,
    body: B,
    until: Instant,
) -> Result<Response<Reply>, Unsent>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let mut request = Request::new(body);
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = target.uri().ok_or(Unsent::Failed(Failure::Wrong))?;
    *request.headers_mut() = sent(desk, &parts.headers);
    let pool = &target.origin().pool;
    let pick = pool.pick(clock::now(), None, &Tried::default());
    let pick = pick.map_err(|none| Unsent::Failed(sending::nobody(none)))?;
    let answer = tokio::time::timeout_at(until, pick.send(request, until)).await;
    let answer = answer.map_err(|_| Unsent::Failed(Failure::Late))?;
    answer.map_err(Unsent::Sending)
}

/// All that is not about the connection; not what a client claims about itself.
fn sent(desk: &Desk, client: &HeaderMap) -> HeaderMap {
    let mut headers = client.clone();
    forward::strip_hop_by_hop(&mut headers);
    headers.remove(header::HOST);
    headers.remove(header::FORWARDED);
    let claims = headers
        .keys()
        .filter(|name| name.as_str().starts_with("x-forwarded"));
    let claims: Vec<_> = claims.cloned().collect();
    for name in claims {
        headers.remove(name);
    }
    desk.node.sign_loop(&mut headers);
    desk.node.sign(&mut headers, Version::HTTP_11);
    headers
}

/// A part whose length is not that of the range it says it is.
fn is_wrong_part(status: StatusCode, headers: &HeaderMap) -> bool {
    if status != StatusCode::PARTIAL_CONTENT {
        return false;
    }
    let parts = headers.get(header::CONTENT_TYPE);
    if parts.is_some_and(|kind| kind.as_bytes().starts_with(b"multipart/byteranges")) {
        return false;
    }
    let range = headers
        .get(header::CONTENT_RANGE)
        .map(|range| ContentRange::parse(range.as_bytes()));
    let Some(Some(range)) = range else {
        return true;
    };
    match heads::announced(headers) {
        Ok(length) => length.is_some_and(|length| length != range.span.length()),
        Err(()) => true,
    }
}

fn given(desk: &Desk, answer: Response<Reply>, why: Forwarded) -> Response<EdgeBody> {
    let (mut parts, reply) = answer.into_parts();
    let mut headers = heads::received(parts.headers, desk.clock.now_ms());
    let outcome = Outcome {
        forwarded: Some(why),
        origin_status: Some(parts.status),
        ..Outcome::default()
    };
    heads::say(&mut headers, outcome.value(heads::CACHE_NAME));
    parts.headers = headers;
    let passed = Passed {
        reply,
        late: Box::pin(tokio::time::sleep(PATIENCE)),
    };
    Response::from_parts(parts, EdgeBody::stream(passed))
}

/// An answer on its way through.
pub(crate) struct Passed {
    reply: Reply,
    late: Pin<Box<Sleep>>,
}

impl Body for Passed {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.reply).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(|_| BrokenOff::Origin)));
        }
        ready!(self.late.as_mut().poll(cx));
        Poll::Ready(Some(Err(BrokenOff::Origin)))
    }

    fn is_end_stream(&self) -> bool {
        self.reply.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.reply.size_hint()
    }
}
