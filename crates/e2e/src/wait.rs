//! Waiting for what must come to pass, no longer than it may take.

use std::time::{Duration, Instant};

/// Looks again and again until the answer is yes.
///
/// # Panics
/// If that takes longer than `within`.
pub async fn eventually(what: &str, within: Duration, look: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !look().await {
        assert!(began.elapsed() < within, "not within {within:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
