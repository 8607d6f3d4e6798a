//! Benchmarks against peers and budgets. A new one is a file with a `BENCHMARK` and its line in
//! [`ALL`].

pub mod clock;
pub mod cores;
pub mod edge;
pub mod epoll;
pub mod fair_queue;
pub mod frame;
pub mod gate;
pub mod http1;
mod instructions;
pub mod kernel;
pub mod load;
pub mod node;
pub mod origin;
pub mod overload;
pub mod overload_sim;
pub mod page;
pub mod passport;
pub mod peers;
pub mod proxy;
pub mod queue;
pub mod quota;
pub mod report;
pub mod request;
pub mod results;
pub mod soak;
mod svg;
pub mod table;
mod turns;

use frame::Benchmark;

/// Every benchmark there is.
pub const ALL: &[Benchmark] = &[
    queue::BENCHMARK,
    gate::BENCHMARK,
    kernel::BENCHMARK,
    node::BENCHMARK,
    fair_queue::BENCHMARK,
    quota::BENCHMARK,
    passport::BENCHMARK,
];
