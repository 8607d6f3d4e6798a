//! Answers: an upstream's, passed on; a redirect; a refusal that says why.

use std::cell::RefCell;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, ETAG, HeaderMap,
    HeaderName, HeaderValue, LOCATION, RETRY_AFTER, SERVER, VARY, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{Response, StatusCode};
use http_rules::authority::Authority;
use http_rules::forward::{is_hop_by_hop, strip_hop_by_hop};
use http_rules::problem::{self, Problem};
use http_rules::ratelimit::{self, Left, RATELIMIT, RATELIMIT_POLICY};
use http_rules::request_id;
use kernel::serve::problem::REASON_HEADER;
use upstream::Reply;

use crate::body::{Answer, Pace};
use crate::heads::Heads;
use crate::intake::GRPC;
use crate::journey::Journey;
use crate::plan::Route;
use crate::quota::{Standing, Whose};
use crate::reject::Refusal;
use crate::request::Arrival;
use crate::rewrite::Redirect;

pub(crate) mod grpc;

static ID: HeaderName = request_id::NAME;
static RATES: [HeaderName; 2] = [RATELIMIT, RATELIMIT_POLICY];

/// An upstream's answer, passed on.
pub(crate) fn answer(
    mut journey: Box<Journey>,
    answer: Response<Reply>,
    standing: Option<Standing>,
) -> Response<Answer> {
    let (mut parts, reply) = answer.into_parts();
    if parts.status == StatusCode::NO_CONTENT {
        // What is not there has no length, and clients of HTTP/2 take one for a broken answer.
        parts.headers.remove(CONTENT_LENGTH);
    }
    let pace = head(&mut parts.headers, &journey, standing);
    parts.version = http::Version::HTTP_11;
    if matches!(pace, Pace::Own)
        && let Err(refusal) = journey.becomes_stream(|| reply.lend())
    {
        return self::refusal(journey, refusal);
    }
    Response::from_parts(parts, Answer::passing(reply, journey, pace))
}

/// Makes an upstream's head one of ours: without what ends here, with what the gateway says, as the route wants it.
pub(crate) fn head(headers: &mut HeaderMap, journey: &Journey, standing: Option<Standing>) -> Pace {
    let pace = pass_on(headers, journey.plan.upstream_patience, standing.is_some());
    headers.append(&ID, journey.id.value());
    if let Some(standing) = standing {
        rate(headers, standing);
    }
    if let Some(route) = &journey.route {
        route.response_edits.apply(headers);
    }
    pace
}

/// Takes out of an upstream's head what ends here, and what the gateway says itself: of the rates only where it has
/// one. One look at each field: nearly every head has nothing of it.
fn pass_on(headers: &mut HeaderMap, patience: Duration, rated: bool) -> Pace {
    let (mut hop_by_hop, mut ours, mut pace) = (false, false, Pace::Steady(patience));
    for (name, value) in &*headers {
        match *name {
            CONTENT_TYPE => pace = self::pace(value, patience),
            CONTENT_LENGTH | DATE | SERVER | CACHE_CONTROL | ETAG | VARY => {}
            _ => {
                hop_by_hop |= is_hop_by_hop(name);
                ours |= *name == ID || *name == REASON_HEADER || (rated && RATES.contains(name));
            }
        }
    }
    if hop_by_hop {
        strip_hop_by_hop(headers);
    }
    if ours {
        let rates = RATES.iter().filter(|_| rated);
        for name in [&ID, &REASON_HEADER].into_iter().chain(rates) {
            headers.remove(name);
        }
    }
    pace
}

fn pace(kind: &HeaderValue, patience: Duration) -> Pace {
    let kind = kind.as_bytes();
    if kind.starts_with(b"text/event-stream") {
        return Pace::Own;
    }
    match kind.starts_with(GRPC) {
        true => Pace::Calls(patience),
        false => Pace::Steady(patience),
    }
}

/// An answer that needed no upstream.
pub(crate) fn done(mut journey: Box<Journey>, mut response: Response<Answer>) -> Response<Answer> {
    let status = response.status().as_u16();
    response
        .headers_mut()
        .insert(request_id::NAME, journey.id.value());
    journey.answered_here(status);
    response
}

/// There is nothing to be said; it was heard.
pub(crate) fn nothing_said() -> Arrival {
    let mut response = Response::new(Answer::Whole(Bytes::new()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    Arrival::Elsewhere(Box::new(response))
}

/// Sends the client elsewhere.
pub(crate) fn elsewhere(
    route: &Route,
    redirect: &Redirect,
    authority: &Authority<'_>,
    parts: &Parts,
    standing: Option<Standing>,
) -> Result<Arrival, Refusal> {
    let location = redirect.location(authority.text, &parts.uri);
    let mut response = Response::new(Answer::Whole(Bytes::new()));
    *response.status_mut() = redirect.status;
    let headers = response.headers_mut();
    headers.insert(LOCATION, location.ok_or(Refusal::NoRoute)?);
    if let Some(standing) = standing {
        rate(headers, standing);
    }
    route.response_edits.apply(headers);
    Ok(Arrival::Elsewhere(Box::new(response)))
}

/// Says no, and why.
pub(crate) fn refusal(mut journey: Box<Journey>, refusal: Refusal) -> Response<Answer> {
    let mut response = problem(&refusal, journey.id.as_str());
    if journey.heads.has(Heads::CALL) {
        response = grpc::refusal(&refusal, response);
    }
    journey.refused(&refusal, response.body().len());
    let mut response = response.map(Answer::Whole);
    response
        .headers_mut()
        .insert(request_id::NAME, journey.id.value());
    response
}

/// A refusal as an answer.
pub(crate) fn problem(refusal: &Refusal, id: &str) -> Response<Bytes> {
    let status =
        StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = Problem {
        kind: None,
        title: status.canonical_reason().unwrap_or("Refused"),
        status: status.as_u16(),
        detail: refusal.detail(),
        reason: refusal.reason(),
        request_id: id,
        retry_after_ms: refusal.retry_after().map(|wait| wait.as_millis() as u64),
    };
    let mut response = Response::new(body.body());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static(problem::CONTENT_TYPE),
    );
    headers.insert(&REASON_HEADER, HeaderValue::from_static(refusal.reason()));
    if let Some(wait) = refusal.retry_after() {
        headers.insert(RETRY_AFTER, ratelimit::retry_after(wait));
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(allowed) = refusal.allowed() {
        headers.insert(ALLOW, allowed.value());
    }
    if let Some(standing) = refusal.standing() {
        rate(headers, standing.clone());
    }
    if refusal.closes() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Says where a caller stands, in a head that says nothing of it yet.
fn rate(headers: &mut HeaderMap, standing: Standing) {
    if let Some(left) = left(&standing) {
        headers.append(RATELIMIT, left);
    }
    headers.append(RATELIMIT_POLICY, standing.policy);
}

/// What a caller has left, and how that was said.
struct LastSaid {
    whose: Whose,
    remaining: u32,
    reset_s: u64,
    value: HeaderValue,
}

/// Callers who are far from their rate are told the same again and again.
fn left(standing: &Standing) -> Option<HeaderValue> {
    thread_local! {
        static LAST: RefCell<Option<LastSaid>> = const { RefCell::new(None) };
    }
    let (whose, remaining) = (standing.whose, standing.remaining);
    let reset_s =
        standing.reset_after.as_secs() + u64::from(standing.reset_after.subsec_nanos() > 0);
    LAST.with_borrow_mut(|last| {
        if let Some(last) = last
            && (last.whose, last.remaining, last.reset_s) == (whose, remaining, reset_s)
        {
            return Some(last.value.clone());
        }
        let mut value = ratelimit::left(&[Left {
            name: whose.policy(),
            remaining: remaining.into(),
            reset: Duration::from_secs(reset_s),
        }])?;
        // Another one each time, for who is not far from it: not worth a place in what HTTP/2 remembers.
        value.set_sensitive(true);
        *last = Some(LastSaid {
            whose,
            remaining,
            reset_s,
            value: value.clone(),
        });
        Some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-06
    #[test]
    fn what_is_left_is_said_as_it_is_however_often_it_is_asked_for() {
        let policy = HeaderValue::from_static("p");
        let said = |whose, remaining, reset_ms| {
            let standing = Standing {
                whose,
                policy: policy.clone(),
                remaining,
                reset_after: Duration::from_millis(reset_ms),
            };
            left(&standing).unwrap()
        };
        for _ in 0..2 {
            assert_eq!(said(Whose::Tenant, 7, 1), "\"tenant\";r=7;t=1");
            assert_eq!(said(Whose::Tenant, 7, 1_000), "\"tenant\";r=7;t=1");
            assert_eq!(said(Whose::Tenant, 7, 1_001), "\"tenant\";r=7;t=2");
            assert_eq!(said(Whose::Tenant, 6, 1_001), "\"tenant\";r=6;t=2");
            assert_eq!(said(Whose::Route, 6, 1_001), "\"route\";r=6;t=2");
        }
    }
}
