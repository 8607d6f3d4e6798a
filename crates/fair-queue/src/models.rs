//! Loom models: every interleaving up to a bound of preemptions, counted; and bugs they must catch.
//!
//! `LOOM_MAX_PREEMPTIONS` deepens the search, `LOOM_LOG=trace` shows an execution.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

mod shell;

/// Two forced switches find nearly all bugs at a small part of the cost of all interleavings.
const PREEMPTIONS: usize = 2;
/// Where a model too large for the daily run is cut off, unless a depth was asked for.
const DAILY_EXECUTIONS: usize = 120_000;

/// Explores `model` and prints how much was seen.
fn explore(name: &str, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    if builder.preemption_bound.is_none() {
        builder.preemption_bound = Some(PREEMPTIONS);
        builder.max_permutations = builder.max_permutations.or(Some(DAILY_EXECUTIONS));
    }
    let limit = builder.max_permutations;
    let executions = run(builder, model);
    let cut = if limit.is_some_and(|limit| executions + 1 >= limit) {
        ", then cut off"
    } else {
        ""
    };
    println!("loom: {name} explored {executions} executions{cut}");
    assert!(
        executions > 1,
        "a model with one execution has no concurrency"
    );
}

fn run(builder: loom::model::Builder, model: impl Fn() + Send + Sync + 'static) -> usize {
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&executions);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    executions.load(Ordering::Relaxed)
}

/// Polls once with a waker that nobody hears, as a task does that is cancelled afterwards.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(future).poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}
