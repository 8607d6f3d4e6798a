//! The whole node in virtual time: a day of load and faults in minutes, the same each time for the same seed.
//!
//! The composed node runs as it is, on tokio's paused clock and on a network in memory. Around it live tenants that ask
//! over HTTP/1, HTTP/2 and frames, origins in every mood, and a schedule of faults. Whatever happens is judged at once,
//! counted, and folded into a digest of the history.

pub mod arguments;
mod client;
mod config;
mod crowd;
pub mod determinism;
mod fault;
pub mod heap;
mod judge;
mod ledger;
mod network;
mod operator;
mod origin;
mod pipe;
mod request;
pub mod run;
mod world;
