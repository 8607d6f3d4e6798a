//! The outside world for tests: a faulty origin, a load generator, a process harness, seeded simulations.
//!
//! Nothing here knows the kernel or the node: everything is driven over sockets, signals and `/proc`.

pub mod frames;
pub mod http;
pub mod load;
pub mod process;
pub mod recorder;
pub mod sim;
pub mod strict;
pub mod upstream;
pub mod wire;
