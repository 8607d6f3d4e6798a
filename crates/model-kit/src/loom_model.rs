//! Loom models: every interleaving up to a bound of preemptions, counted.
//!
//! `LOOM_MAX_PREEMPTIONS` deepens the search, `LOOM_LOG=trace` shows an execution.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::PREEMPTIONS;

/// Where a model too large for the daily run is cut off, unless a depth was asked for.
const DAILY_EXECUTIONS: usize = 120_000;

/// Explores `model` and prints how much was seen.
pub fn explore(name: &str, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    if builder.preemption_bound.is_none() {
        builder.preemption_bound = Some(PREEMPTIONS);
        builder.max_permutations = builder.max_permutations.or(Some(DAILY_EXECUTIONS));
    }
    let limit = builder.max_permutations;
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&executions);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let executions = executions.load(Ordering::Relaxed);
    let cut = match limit {
        Some(limit) if executions + 1 >= limit => ", then cut off",
        _ => "",
    };
    println!("loom: {name} explored {executions} executions{cut}");
    assert!(
        executions > 1,
        "a model with one execution has no concurrency"
    );
}
