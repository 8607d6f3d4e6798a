//! HTTP/2 as bytes: frames, and packed heads as a server reads and writes them.
//!
//! Nothing here waits or owns a socket, and nothing knows of streams: [`frame`] is what passes on a connection,
//! [`HeadReader`] makes requests out of what frames carry, [`write_answer`] makes frames of answers. Heads are read as
//! RFC 7541 packs them and written without a table, so that a connection at rest remembers nothing of its answers.

mod answer;
pub mod frame;
pub mod hpack;
mod request;

pub use answer::{Tell, write_answer, write_continue, write_trailers};
pub use request::{HeadReader, Request, Unfit};

#[cfg(test)]
extern crate self as http2_wire;
#[cfg(test)]
mod exercise;
