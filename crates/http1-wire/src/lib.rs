//! HTTP/1 as bytes, from both sides: messages are written and read, and what can be read in two ways is refused.
//!
//! Nothing here waits or owns a socket. To a client, [`write_head`] puts a request's head into a buffer and says how
//! its body is to be framed; [`HeadReader`] takes the head of an answer out of a buffer as it fills. To a server,
//! [`RequestReader`] and [`write_answer`] are the same the other way round, and to both [`BodyReader`] is what takes
//! out a body. All of them do the same wherever the pieces happen to be cut. Framing follows RFC 9112 §6, without its
//! leniencies: a peer that needs them has made a mistake, and the next message on its connection would be read from
//! the wrong place.

mod answer;
mod ask;
mod body;
mod chunks;
mod fault;
mod fields;
mod reply;
mod request;
mod scan;
pub mod spare;

pub use answer::{Answer, Asked, Framing, HeadReader};
pub use ask::{Ask, Field, Payload, Sending, Written, chunk_head, write_head, write_trailers};
pub use body::{BodyReader, Piece};
pub use fault::Fault;
pub use reply::{Tell, Told, listed_trailers, write_answer};
pub use request::{Request, RequestReader, Terms, Unreadable};

/// Field lines in one head, or in one block of trailers, at most.
pub const FIELDS_MAX: usize = 100;

#[cfg(test)]
extern crate self as http1_wire;
#[cfg(test)]
mod exercise;
