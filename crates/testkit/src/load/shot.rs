//! One request of the load: lease a connection, exchange, note what came of it.

use super::Range;
use super::report::Outcome;
use crate::http::{Failure, Response};
use std::time::Instant;

/// Names the reason of a refusal, where the server says it.
const REASON_HEADER: &str = "x-macronode-reason";

#[derive(Debug, Clone, Copy)]
pub(super) struct Shot {
    pub(super) stream: usize,
    pub(super) intended: Instant,
}

/// What is known of a request's connection, also when it failed.
#[derive(Debug, Default)]
struct Trace {
    reused: bool,
    connected_at: Option<Instant>,
    written_at: Option<Instant>,
}

pub(super) async fn fire(range: &Range, shot: Shot) {
    let mut trace = Trace::default();
    let result = exchange(range, shot, &mut trace).await;
    let reason = result
        .as_ref()
        .ok()
        .and_then(|response| response.header(REASON_HEADER));
    let outcome = Outcome {
        stream: shot.stream,
        intended: shot.intended,
        connected_at: trace.connected_at,
        written_at: trace.written_at,
        ended_at: Instant::now(),
        reused_connection: trace.reused,
        reason: reason.map(str::to_owned),
        result: result.map(|response| response.status),
    };
    range.ledger.note(outcome, range.counts(shot.intended));
}

async fn exchange(range: &Range, shot: Shot, trace: &mut Trace) -> Result<Response, Failure> {
    let deadline = shot.intended + range.load.timeout;
    let mut lease = range.pool.lease(deadline).await?;
    trace.reused = lease.reused;
    trace.connected_at = Some(Instant::now());
    let result = lease
        .connection
        .exchange_by(&range.requests[shot.stream], deadline)
        .await;
    trace.written_at = lease.connection.written_at();
    if result.as_ref().is_ok_and(|response| response.keeps_alive) && trace.written_at.is_some() {
        lease.keep();
    }
    result
}
