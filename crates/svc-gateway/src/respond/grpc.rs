//! Refusals as a gRPC client reads them: an answer of HTTP that went well, and a status of its own that did not.

use std::fmt::Write;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use crate::intake::GRPC;
use crate::reject::Refusal;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// When a call may be tried again; clients that retry by themselves keep to it.
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// Whether a body of this kind is a call. What browsers send in its stead (`application/grpc-web`) is not: their
/// clients read the status of HTTP.
pub(crate) fn is_call(kind: &HeaderValue) -> bool {
    let kind = kind.as_bytes();
    kind.strip_prefix(GRPC)
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';' | b' ')))
}

/// The same refusal without a body: all that is said of a call is said in the head that ends it.
pub(super) fn refusal(refusal: &Refusal, problem: Response<Bytes>) -> Response<Bytes> {
    let mut headers = problem.into_parts().0.headers;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.extend(end(refusal));
    if let Some(wait) = refusal.retry_after() {
        push_back(&mut headers, wait);
    }
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::OK;
    *response.headers_mut() = headers;
    response
}

/// How a call ends that is refused: its trailers, where its answer has begun.
pub(crate) fn end(refusal: &Refusal) -> HeaderMap {
    let mut said = HeaderMap::new();
    said.insert(STATUS, HeaderValue::from(code(refusal.status())));
    if let Some(message) = message(refusal.detail()) {
        said.insert(MESSAGE, message);
    }
    said
}

/// Text as a message carries it: what is not visible there is escaped, and what escapes.
fn message(text: &str) -> Option<HeaderValue> {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => escaped.push(char::from(byte)),
            _ => write!(escaped, "%{byte:02X}").ok()?,
        }
    }
    HeaderValue::try_from(escaped).ok()
}

fn push_back(headers: &mut HeaderMap, wait: Duration) {
    let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    headers.insert(PUSHBACK, HeaderValue::from(millis));
}

/// As gRPC itself reads a status of HTTP, and more exact where that would say no more than "unknown".
fn code(status: u16) -> u16 {
    const CANCELLED: u16 = 1;
    const UNKNOWN: u16 = 2;
    const DEADLINE_EXCEEDED: u16 = 4;
    const PERMISSION_DENIED: u16 = 7;
    const RESOURCE_EXHAUSTED: u16 = 8;
    const UNIMPLEMENTED: u16 = 12;
    const INTERNAL: u16 = 13;
    const UNAVAILABLE: u16 = 14;
    const UNAUTHENTICATED: u16 = 16;
    match status {
        400 | 500 | 508 => INTERNAL,
        401 => UNAUTHENTICATED,
        403 => PERMISSION_DENIED,
        404 | 405 | 415 => UNIMPLEMENTED,
        408 | 504 => DEADLINE_EXCEEDED,
        413 | 414 | 431 => RESOURCE_EXHAUSTED,
        421 | 429 | 502 | 503 => UNAVAILABLE,
        499 => CANCELLED,
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reject::reasons;

    // req: GW-01
    #[test]
    fn what_is_no_call_is_not_taken_for_one() {
        let call = |kind| is_call(&HeaderValue::from_static(kind));
        assert!(call("application/grpc") && call("application/grpc+proto"));
        assert!(call("application/grpc;charset=utf-8"));
        assert!(!call("application/grpc-web+proto") && !call("application/json") && !call(""));
    }

    // req: GW-08
    #[test]
    fn every_reason_has_a_status_and_a_message_that_a_call_may_carry() {
        for reason in reasons() {
            assert!(message(reason.doc).is_some(), "{}", reason.doc);
            assert_ne!(
                code(reason.status),
                0,
                "{}: never a call that went well",
                reason.reason
            );
        }
        assert_eq!(message("50 % – ok").unwrap(), "50 %25 %E2%80%93 ok");
        assert_eq!([429, 503, 502].map(code), [14; 3], "worth another try");
        assert_eq!((code(504), code(401), code(404)), (4, 16, 12));
    }

    // req: GW-08
    #[test]
    fn a_refused_call_is_told_why_and_when_to_come_again() {
        let refused = Refusal::QueueFull(Duration::from_millis(1_200));
        let problem = super::super::problem(&refused, "id");
        let answer = refusal(&refused, problem);
        assert_eq!(answer.status(), 200);
        assert!(answer.body().is_empty());
        let said = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(said("grpc-status"), "14");
        assert_eq!(said("grpc-message"), refused.detail());
        assert_eq!(said("grpc-retry-pushback-ms"), "1200");
        assert_eq!(said("x-macronode-reason"), "queue-full");
        assert_eq!(said("content-type"), "application/grpc");
        assert_eq!(said("retry-after"), "2");
    }
}
