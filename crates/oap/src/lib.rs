//! OAP/1: requests and answers in frames, many at a time on one connection.
//!
//! `docs/oap-1.md` is the protocol; this is one implementation of it. Nothing in the codec waits or owns a socket:
//! [`Decoder`] takes [`Frame`]s out of a buffer as it fills, [`Frame::encode`] puts them into one, and [`Session`]
//! holds both sides of a connection to the sequence rules. A broken rule is a [`Violation`], which ends the
//! connection; what is wrong with one request alone is a [`Refusal`].

pub mod bridge;
#[cfg(feature = "client")]
pub mod client;
mod comp;
mod control;
mod decoder;
mod flags;
mod frame;
mod header;
mod hello;
pub mod limits;
mod meta;
mod problem;
mod refusal;
mod session;
mod tenant;
mod violation;

pub use comp::{Codec, Inflater};
pub use control::{Control, GoAway, Reset};
pub use decoder::Decoder;
pub use flags::Flags;
pub use frame::Frame;
pub use header::Header;
pub use hello::{Agreed, Hello};
pub use http_rules::decode::BadBody;
pub use meta::{BadMeta, Meta};
pub use problem::{Directive, Problem};
pub use refusal::Refusal;
pub use session::{Event, Opening, Session, Unsent};
pub use tenant::tenant_id;
pub use violation::Violation;

/// The opcode spaces that are the protocol's own; what is above belongs to whoever configures the node.
pub mod app_proto {
    /// HELLO, CREDIT, RESET, GOAWAY, PING.
    pub const CONTROL: u16 = 0;
    /// HTTP requests to the gateway's routes; see [`bridge`](crate::bridge).
    pub const HTTP: u16 = 1;
    /// Answers what it was sent.
    pub const ECHO: u16 = 2;
    /// The first of sixteen that are kept for the node's facets.
    pub const FACETS: u16 = 16;
    /// The first that is free for services by configuration.
    pub const FREE: u16 = 32;
}

#[cfg(test)]
extern crate self as oap;
#[cfg(test)]
mod exercise;
