//! Through whom a message came (`Via`, `CDN-Loop`), and whether it has come through us before.

use crate::text::{is_token, list};
use http::Version;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

const CDN_LOOP: HeaderName = HeaderName::from_static("cdn-loop");

/// This node by the name it signs messages with. Nodes in one chain need names of their own.
#[derive(Clone, Debug)]
pub struct Node {
    name: HeaderValue,
    via_1_0: HeaderValue,
    via_1_1: HeaderValue,
    via_2: HeaderValue,
}

impl Node {
    /// `name` is a token (RFC 9110 5.6.2) of at most 64 characters; anything else is refused.
    pub fn new(name: &str) -> Option<Node> {
        if name.len() > 64 || !is_token(name.as_bytes()) {
            return None;
        }
        let via = |version: &str| HeaderValue::from_str(&format!("{version} {name}")).ok();
        Some(Node {
            name: HeaderValue::from_str(name).ok()?,
            via_1_0: via("1.0")?,
            via_1_1: via("1.1")?,
            via_2: via("2")?,
        })
    }

    /// Whether the message says that it came through a node of this name.
    pub fn has_passed(&self, headers: &HeaderMap) -> bool {
        let mut vias = headers.get_all(header::VIA).iter().flat_map(list);
        let mut loops = headers.get_all(CDN_LOOP).iter().flat_map(list);
        vias.any(|entry| self.is(word(entry, 1))) || loops.any(|entry| self.is(word(entry, 0)))
    }

    /// Adds `Via` for a message that was received as `version`.
    pub fn sign(&self, headers: &mut HeaderMap, version: Version) {
        headers.append(header::VIA, self.via(version).clone());
    }

    /// This node's part of `Via` for a message that was received as `version`.
    pub fn via(&self, version: Version) -> &HeaderValue {
        match version {
            Version::HTTP_10 => &self.via_1_0,
            Version::HTTP_2 => &self.via_2,
            _ => &self.via_1_1,
        }
    }

    /// Adds `CDN-Loop` (RFC 8586), which intermediaries are not allowed to remove.
    pub fn sign_loop(&self, headers: &mut HeaderMap) {
        headers.append(CDN_LOOP, self.name.clone());
    }

    fn is(&self, name: &[u8]) -> bool {
        name.eq_ignore_ascii_case(self.name.as_bytes())
    }
}

/// The `at`-th word, parameters apart.
fn word(entry: &[u8], at: usize) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b';');
    let mut words = entry.split(blank).filter(|word| !word.is_empty());
    words.nth(at).unwrap_or_default()
}

#[cfg(test)]
mod tests;
