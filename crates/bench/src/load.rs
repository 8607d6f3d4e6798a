//! One thread that plays many clients: by the clock, or each as soon as its last answer has come.
//!
//! It shares a core with the origin, so it is a plain loop over the readiness queue: no tasks, no
//! locks. It notes how late it was itself, because a late generator makes every server look slow.

pub mod closed;
mod connection;
pub(crate) mod idle;
pub mod manual;
pub mod open;
pub(crate) mod sequence;
pub mod tally;
pub mod wire;

use std::fmt::Display;

/// The bytes of a request with a body, or without.
pub fn request(
    method: &str,
    host: impl Display,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    [text.as_bytes(), body].concat()
}
