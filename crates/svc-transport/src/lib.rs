//! The transport: a second door for machines, where requests and answers are frames of OAP/1.
//!
//! [`message`] is the story of a request, [`connection`] that of who sends it; every other file is one of their steps,
//! or keeps what outlives them.

mod alarm;
mod body;
pub mod config;
mod connection;
mod echo;
mod entrance;
mod gates;
mod message;
pub mod metrics;
mod outbox;
mod queues;
mod reject;
mod service;
mod transport;
pub mod tree;
mod work;

pub use body::Body;
pub use echo::{ECHO, Echo};
pub use gates::{GateLimit, OpcodeKey, Services};
pub use reject::{Reason, Refusal, reasons};
pub use service::{Ask, BrokenOff, Handler, Opcode, Outflow, Reply};
pub use transport::Transport;
