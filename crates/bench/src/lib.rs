//! Benchmarks against peers and budgets. A new one is a file with a `BENCHMARK` and its line in
//! [`ALL`].

pub mod clock;
pub mod frame;
pub mod queue;
pub mod report;

use frame::Benchmark;

/// Every benchmark there is.
pub const ALL: &[Benchmark] = &[queue::BENCHMARK];
