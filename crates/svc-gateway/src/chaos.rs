//! Kills workers on purpose, to show that nothing is lost, or holds them up. Only in builds with the `chaos` feature.

use std::time::Duration;

use bytes::Bytes;
use front_door::Upload;
use http::{Method, Request, Response, StatusCode};

use crate::body::Answer;
use crate::shared::Shared;

/// `POST /chaos/kill?workers=N` kills so many of the pool, `POST /chaos/stall?ms=N` holds one up for so long; anything
/// else is none of this.
pub(crate) fn kill(shared: &Shared, request: &Request<Upload>) -> Option<Response<Answer>> {
    let number = |key| {
        let value = request.uri().query()?.strip_prefix(key)?;
        value.parse::<u64>().ok()
    };
    let path = request.uri().path();
    if request.method() != Method::POST || !matches!(path, "/chaos/kill" | "/chaos/stall") {
        return None;
    }
    let mut response = Response::new(Answer::Whole(Bytes::new()));
    match (shared.workers(), number("ms=")) {
        (Some(workers), Some(ms)) => workers.stall(1, Duration::from_millis(ms)),
        (Some(workers), None) => workers.kill(number("workers=").unwrap_or(1) as usize),
        (None, _) => *response.status_mut() = StatusCode::NOT_FOUND,
    }
    Some(response)
}

/// What came of killing where somebody did, else what would have come anyway.
pub(crate) async fn instead(
    killed: Option<Response<Answer>>,
    answer: impl Future<Output = Response<Answer>>,
) -> Response<Answer> {
    match killed {
        Some(killed) => killed,
        None => answer.await,
    }
}
