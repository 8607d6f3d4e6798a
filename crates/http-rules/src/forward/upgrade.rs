//! Whether a request asks to leave HTTP, and how that is asked of the next server.

use crate::text::{is_token, list};
use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Version};

/// The protocol asked for, where a request does so in full: GET on HTTP/1.1 with `Upgrade` named by `Connection` and no
/// body announced. `h2c` is never one of them, nor a draft of it: behind a tunnel of HTTP/2 nobody would check the
/// requests any more.
pub fn requested_upgrade(parts: &Parts) -> Option<&HeaderValue> {
    let headers = &parts.headers;
    let asked = headers.get(header::UPGRADE)?;
    let plain = parts.version == Version::HTTP_11
        && parts.method == Method::GET
        && !headers.contains_key(header::TRANSFER_ENCODING)
        && headers
            .get(header::CONTENT_LENGTH)
            .is_none_or(|length| length == "0");
    let single = headers.get_all(header::UPGRADE).iter().count() == 1 && is_protocol(asked);
    (plain && single && connection_names_upgrade(headers)).then_some(asked)
}

/// Asks the next server for `protocol`, once the hop-by-hop headers are gone.
pub fn request_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, protocol);
}

/// Whether an answer agrees to `protocol`, and to nothing else.
pub fn agrees_to_upgrade(headers: &HeaderMap, protocol: &HeaderValue) -> bool {
    let mut said = headers.get_all(header::UPGRADE).iter();
    let same = |said: &HeaderValue| said.as_bytes().eq_ignore_ascii_case(protocol.as_bytes());
    said.next().is_some_and(same) && said.next().is_none()
}

/// One name, with or without a version; a choice of several is not offered on.
fn is_protocol(value: &HeaderValue) -> bool {
    let mut parts = value.as_bytes().splitn(2, |byte| *byte == b'/');
    let name = parts.next().unwrap_or_default();
    let begins_with = |other: &[u8]| {
        let begin = name.get(..other.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(other))
    };
    let http = [&b"h2"[..], b"h3", b"http", b"spdy", b"tls"]
        .into_iter()
        .any(begins_with);
    !http && is_token(name) && parts.next().is_none_or(is_token)
}

fn connection_names_upgrade(headers: &HeaderMap) -> bool {
    let mut options = headers.get_all(header::CONNECTION).iter().flat_map(list);
    options.any(|option| option.eq_ignore_ascii_case(b"upgrade"))
}

#[cfg(test)]
mod tests;
