//! Answers of the overlay: JSON, events, refusals that explain themselves.

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use http_rules::framing::Bad;
use http_rules::problem::{self, Problem};
use http_rules::{ratelimit, request_id};
use kernel::serve::problem::REASON_HEADER;
use serde::Serialize;

use super::body::OverlayBody;
use super::reject::Refusal;

/// The type of an event stream.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// A value as JSON.
pub(crate) fn json(status: u16, value: &impl Serialize) -> Result<Response<OverlayBody>, Refusal> {
    let text = serde_json::to_vec(value).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written as JSON");
        Refusal::Internal
    })?;
    Ok(answer(
        status,
        "application/json",
        OverlayBody::Whole(text.into()),
    ))
}

/// An answer of this type.
pub(crate) fn answer(status: u16, kind: &'static str, body: OverlayBody) -> Response<OverlayBody> {
    let mut answer = Response::new(body);
    *answer.status_mut() = code(status);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// A refusal as an answer.
pub(crate) fn refusal(refusal: &Refusal, id: &HeaderValue) -> Response<Bytes> {
    let status = code(refusal.status());
    let body = Problem {
        kind: None,
        title: status.canonical_reason().unwrap_or("Refused"),
        status: status.as_u16(),
        detail: &refusal.detail(),
        reason: refusal.reason(),
        request_id: id.to_str().unwrap_or(""),
        retry_after_ms: refusal.retry_after().map(|wait| wait.as_millis() as u64),
    };
    let mut response = Response::new(body.body());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(CONTENT_TYPE, fixed(problem::CONTENT_TYPE));
    headers.insert(&REASON_HEADER, fixed(refusal.reason()));
    headers.insert(CACHE_CONTROL, fixed("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    if let Some(wait) = refusal.retry_after() {
        headers.insert(RETRY_AFTER, ratelimit::retry_after(wait));
    }
    match refusal {
        Refusal::OtherMethod(allowed) => {
            headers.insert(ALLOW, fixed(allowed));
        }
        Refusal::Framing(Bad::Connect | Bad::Trace) => {
            headers.insert(ALLOW, fixed("GET, HEAD, POST, PUT"));
        }
        Refusal::Unauthorized | Refusal::BadToken => {
            headers.insert(WWW_AUTHENTICATE, fixed("Bearer realm=\"macronode\""));
        }
        _ => {}
    }
    if refusal.closes() {
        headers.insert(CONNECTION, fixed("close"));
    }
    headers.insert(request_id::NAME, id.clone());
    response
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
