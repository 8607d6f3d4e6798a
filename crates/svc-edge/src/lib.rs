//! The edge: packs, stored objects and cached origins, with exact HTTP semantics.
//!
//! [`asset`] is the story of a tile or asset; every other file is one of its steps, or keeps what outlives it.

mod asset;
mod body;
mod cas;
mod certificates;
pub mod config;
mod cors;
pub mod demo;
mod edge;
mod flight;
mod memory;
pub mod metrics;
mod negotiate;
mod origin;
mod packs;
mod pieces;
mod plan;
mod pressure;
mod preview;
pub mod purge;
mod raw;
mod reject;
mod representation;
mod respond;
mod seals;
mod shared;
mod tilejson;
mod tiles;
mod transcode;
pub mod tree;
pub mod view;
mod wish;

pub use body::{BrokenOff, EdgeBody};
pub use edge::Edge;
pub use origin::Purge;
pub use reject::{Reason, reasons};
