//! Benchmarks against peers and budgets. A new one is a file with a `BENCHMARK` and its line in
//! [`ALL`].

pub mod admission;
pub mod catalogue;
mod chart;
pub mod circumstances;
pub mod clock;
pub mod compare;
pub mod cores;
pub mod drain;
pub mod edge;
pub mod epoll;
pub mod everything;
pub mod fair_queue;
pub mod fairness;
pub mod fill;
pub mod frame;
pub mod gate;
pub mod html;
pub mod http1;
mod instructions;
pub mod kernel;
pub mod kill;
pub mod load;
pub mod machine;
pub mod memory;
pub mod micro;
pub mod node;
pub mod oap_codec;
pub mod origin;
pub mod overload;
pub mod overload_sim;
pub mod page;
pub mod passport;
pub mod peers;
pub mod profile;
pub mod proxy;
pub mod queue;
pub mod quota;
pub mod reload;
pub mod report;
pub mod request;
pub mod results;
pub mod round_trips;
pub mod runtimes;
pub mod scaling;
pub mod sheet;
pub mod siege;
pub mod soak;
mod stand;
pub mod startup;
mod svg;
pub mod table;
pub mod tile_reads;
pub mod train;
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
    oap_codec::BENCHMARK,
    tile_reads::BENCHMARK,
];
