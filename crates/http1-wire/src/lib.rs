//! HTTP/1 as bytes, from a client's side: requests are written, answers are read, and what can be read in two ways is
//! refused.
//!
//! Nothing here waits or owns a socket. [`write_head`] puts a request's head into a buffer and says how its body is to
//! be framed; [`HeadReader`] and [`BodyReader`] take an answer out of a buffer as it fills, and do the same wherever
//! the pieces happen to be cut. Framing follows RFC 9112 §6, without its leniencies: a peer whose answer needs them
//! has made a mistake, and the next answer on its connection would be read from the wrong place.

mod answer;
mod ask;
mod body;
mod chunks;
mod fault;
mod fields;
mod scan;

pub use answer::{Answer, Asked, Framing, HeadReader};
pub use ask::{Ask, Payload, Sending, chunk_head, write_head, write_trailers};
pub use body::{BodyReader, Piece};
pub use fault::Fault;

/// Field lines in one head, or in one block of trailers, at most.
pub const FIELDS_MAX: usize = 100;

#[cfg(test)]
extern crate self as http1_wire;
#[cfg(test)]
mod exercise;
