//! What the tests of runtime-free crates share: counted models, seeded bugs, polling by hand, counted allocations,
//! replayed corpora.

pub mod allocations;
pub mod corpus;
pub mod hand;
#[cfg(loom)]
mod loom_model;
mod rerun;

#[cfg(loom)]
pub use loom_model::explore;
pub use rerun::catches;

/// Two forced switches find nearly all bugs at a small part of the cost of all interleavings.
const PREEMPTIONS: usize = 2;
