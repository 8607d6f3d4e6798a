//! Kills workers on purpose, to show that nothing is lost. Only in builds with the `chaos` feature.

use bytes::Bytes;
use front_door::Upload;
use http::{Method, Request, Response, StatusCode};

use crate::body::Answer;
use crate::shared::Shared;

/// `POST /chaos/kill?workers=N` kills so many of the pool; anything else is none of this.
pub(crate) fn kill(shared: &Shared, request: &Request<Upload>) -> Option<Response<Answer>> {
    if request.method() != Method::POST || request.uri().path() != "/chaos/kill" {
        return None;
    }
    let asked = request
        .uri()
        .query()
        .and_then(|query| query.strip_prefix("workers="));
    let count = asked.and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut response = Response::new(Answer::Whole(Bytes::new()));
    match shared.workers() {
        Some(workers) => workers.kill(count),
        None => *response.status_mut() = StatusCode::NOT_FOUND,
    }
    Some(response)
}
