//! Asking whether a kept response still holds, and taking over what the answer says (RFC 9111 3.2, 4.3).

use super::age::only;
use crate::etag::ETag;
use crate::{date, forward};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// A 304 that speaks of something else than what was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTheSame;

/// Whether there is anything to ask with.
pub fn has_validator(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ETAG) || headers.contains_key(header::LAST_MODIFIED)
}

/// The conditions under which a kept response is asked for anew.
pub fn validators(stored: &HeaderMap) -> impl Iterator<Item = (HeaderName, HeaderValue)> + use<> {
    let tag = stored.get(header::ETAG).cloned();
    let changed = stored.get(header::LAST_MODIFIED).cloned();
    let tag = tag.map(|tag| (header::IF_NONE_MATCH, tag));
    tag.into_iter()
        .chain(changed.map(|date| (header::IF_MODIFIED_SINCE, date)))
}

/// The headers of a kept response after a 304: what it says replaces what was said, except about bytes it does not
/// carry. A 304 about another representation changes nothing.
pub fn freshened(
    stored: &HeaderMap,
    not_modified: &HeaderMap,
    came_at_ms: u64,
) -> Result<HeaderMap, NotTheSame> {
    if !is_same(stored, not_modified) {
        return Err(NotTheSame);
    }
    let mut news = not_modified.clone();
    forward::strip_hop_by_hop(&mut news);
    let mut merged = stored.clone();
    merged.remove(header::AGE);
    merged.insert(header::DATE, date::value(came_at_ms / 1000));
    for name in news.keys().filter(|name| !is_about_bytes(name)) {
        merged.remove(name);
        for value in news.get_all(name) {
            merged.append(name, value.clone());
        }
    }
    Ok(merged)
}

/// Each validator that both have must agree.
fn is_same(stored: &HeaderMap, news: &HeaderMap) -> bool {
    let tag = |headers| only(headers, &header::ETAG);
    if let (Some(before), Some(now)) = (tag(stored), tag(news)) {
        return match (ETag::parse(before), ETag::parse(now)) {
            (Some(before), Some(now)) if now.weak => before.weakly_is(&now),
            (Some(before), Some(now)) => {
                before.strongly_is(&now) || before.weak && before.weakly_is(&now)
            }
            _ => before == now,
        };
    }
    let changed = |headers| only(headers, &header::LAST_MODIFIED);
    match (changed(stored), changed(news)) {
        (Some(before), Some(now)) => before == now,
        _ => true,
    }
}

/// Headers that describe the bytes that are kept: a message without them cannot know better.
fn is_about_bytes(name: &HeaderName) -> bool {
    match *name {
        header::CONTENT_LENGTH
        | header::CONTENT_ENCODING
        | header::CONTENT_RANGE
        | header::ETAG => true,
        _ => matches!(
            name.as_str(),
            "content-md5" | "content-digest" | "repr-digest" | "digest"
        ),
    }
}
