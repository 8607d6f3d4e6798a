//! Pure HTTP semantics: what a request must be, what may be forwarded, what a range or a condition means.
//!
//! Nothing here opens a socket, reads a clock or knows a runtime. What a module refuses it refuses with a small value
//! that knows its status, a stable code and a sentence for people.

mod alias;
pub mod authority;
pub mod cache;
mod calendar;
pub mod conditional;
pub mod date;
pub mod deadline;
pub mod decode;
pub mod digest;
pub mod etag;
pub mod forward;
pub mod framing;
pub mod negotiate;
pub mod path;
pub mod problem;
pub mod range;
pub mod ratelimit;
pub mod request_id;
mod text;
pub mod trace;

// The laws are shared with the fuzz targets, which know this crate by its name and cannot see into it.
#[cfg(test)]
extern crate self as http_rules;

#[cfg(test)]
#[expect(
    unreachable_pub,
    reason = "public for the fuzz targets, which include the files"
)]
mod exercise;
