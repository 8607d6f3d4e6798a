//! Refusals as `application/problem+json`: one stable reason in body, header and metric.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use http_body_util::Full;

use super::Answer;
use crate::metrics::{Counter, Kind, MetricSpec, Registry};
use crate::reject::Reject;

/// The header that carries the reason.
pub static REASON_HEADER: HeaderName = HeaderName::from_static("x-macronode-reason");

/// Refusals by reason.
pub static REJECTED: MetricSpec = MetricSpec {
    name: "rejected_total",
    kind: Kind::Counter,
    labels: &["reason"],
    help: "Requests refused, by the reason that stands in the answer",
};

/// Makes and counts refusals.
pub struct Rejections {
    counters: Vec<(&'static str, Counter)>,
}

impl Rejections {
    /// With a counter for each reason there is.
    pub fn new(registry: &Registry) -> Self {
        let counted = |reject: &Reject| {
            (
                reject.reason(),
                registry.counter(&REJECTED, &[reject.reason()]),
            )
        };
        Self {
            counters: Reject::ALL.iter().map(counted).collect(),
        }
    }

    /// The answer to a refused request, counted.
    pub fn answer(&self, reject: Reject, detail: &str) -> Answer {
        if let Some((_, counter)) = self
            .counters
            .iter()
            .find(|(reason, _)| *reason == reject.reason())
        {
            counter.inc();
        }
        problem(reject, detail)
    }
}

/// The answer to a refused request. `detail` is for people and must hold nothing secret.
pub fn problem(reject: Reject, detail: &str) -> Answer {
    let status = StatusCode::from_u16(reject.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = serde_json::json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Refused"),
        "status": status.as_u16(),
        "reason": reject.reason(),
        "detail": detail,
        "retryable": reject.retryable(),
    });
    let mut answer = Response::new(Full::new(Bytes::from(format!("{body}\n"))));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
    headers.insert(
        REASON_HEADER.clone(),
        HeaderValue::from_static(reject.reason()),
    );
    if reject.retryable() {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}
