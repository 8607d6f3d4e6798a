//! The body of a refusal (RFC 9457), written without a serialiser.

use bytes::Bytes;
use std::fmt::Write;

/// The media type of the body.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// What a client is told. Nothing in it may come from an upstream's error or name one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem<'a> {
    /// A URI that explains the kind of problem; `about:blank` when there is none.
    pub kind: Option<&'a str>,
    /// The kind of problem in a few words.
    pub title: &'a str,
    /// The status of the response.
    pub status: u16,
    /// One sentence about this case.
    pub detail: &'a str,
    /// Stable code, the same in header, log and metric.
    pub reason: &'a str,
    /// By which the request is found in the log.
    pub request_id: &'a str,
    /// When to come again.
    pub retry_after_ms: Option<u64>,
}

impl Problem<'_> {
    /// The JSON text.
    pub fn body(&self) -> Bytes {
        let mut json = String::with_capacity(256);
        json.push('{');
        member(&mut json, "type", self.kind.unwrap_or("about:blank"));
        member(&mut json, "title", self.title);
        let _ = write!(json, "\"status\":{},", self.status);
        member(&mut json, "detail", self.detail);
        member(&mut json, "reason", self.reason);
        member(&mut json, "request_id", self.request_id);
        match self.retry_after_ms {
            Some(wait) => {
                let _ = write!(json, "\"retry_after_ms\":{wait}}}");
            }
            None => {
                json.pop();
                json.push('}');
            }
        }
        Bytes::from(json)
    }
}

fn member(json: &mut String, name: &str, text: &str) {
    json.push('"');
    json.push_str(name);
    json.push_str("\":\"");
    escaped(json, text);
    json.push_str("\",");
}

/// `<` and `&` too, so that a browser which takes the body for a page finds nothing to run.
fn escaped(json: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            '\0'..='\x1f' | '\x7f' | '<' | '>' | '&' => {
                let _ = write!(json, "\\u{:04x}", u32::from(character));
            }
            _ => json.push(character),
        }
    }
}

#[cfg(test)]
mod tests;
