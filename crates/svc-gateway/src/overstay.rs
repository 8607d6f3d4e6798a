//! An upload whose client is slow, in a place that others wait for: it ends where its tenant has more places than are
//! its part. The upstream may well have a worker waiting for it, so that its place cannot be given to somebody else.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use crate::intake::Verdict;
use crate::journey::Journey;
use crate::reject::Refusal;

/// How often it is looked whether anybody waits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Waits for what is `sent`, for as long as its upload may stay.
pub(crate) async fn while_it_may_stay<T>(
    upload: &Verdict,
    journey: &Journey,
    mut sent: Pin<Box<impl Future<Output = T>>>,
) -> Result<T, Refusal> {
    loop {
        tokio::select! {
            biased;
            done = &mut sent => return Ok(done),
            () = poll_fn(|cx| upload.poll_slow(cx)) => {}
        }
        if journey.overstays() {
            return Err(Refusal::BodySlow);
        }
        tokio::select! {
            biased;
            done = &mut sent => return Ok(done),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}
