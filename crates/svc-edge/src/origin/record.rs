//! An address's answers as they are written down, their bodies apart.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_rules::cache::{Policy, Variant, Varies};
use serde::{Deserialize, Serialize};

use super::entry::{self, Entry, Head, Resource};

#[derive(Serialize, Deserialize)]
struct RecordText {
    /// Checked when read: two addresses never share a record.
    key: String,
    entries: Vec<EntryText>,
}

#[derive(Serialize, Deserialize)]
struct EntryText {
    status: u16,
    origin_status: u16,
    headers: Vec<(String, String)>,
    variant: Vec<u8>,
    tags: Vec<Box<str>>,
    /// The fields of [`Policy`], in their order; flags are 0 or 1.
    policy: [u64; 7],
}

/// The record of an address and the entries it speaks of, in its order. Entries that cannot be written as text are
/// left out; nothing is written where none can.
pub(crate) fn write<'a>(
    key: &str,
    resource: &'a Resource,
) -> Option<(Vec<u8>, Vec<&'a Arc<Entry>>)> {
    let written = resource
        .variants
        .iter()
        .filter_map(|entry| Some((entry_text(entry)?, entry)));
    let (entries, kept): (Vec<_>, Vec<_>) = written.unzip();
    if entries.is_empty() {
        return None;
    }
    let text = RecordText {
        key: key.to_owned(),
        entries,
    };
    Some((serde_json::to_vec(&text).ok()?, kept))
}

/// What a record says, with the bodies it was written with; nothing if it is not of this address.
pub(crate) fn read(key: &str, record: &[u8], bodies: Vec<Bytes>) -> Option<Resource> {
    let text: RecordText = serde_json::from_slice(record).ok()?;
    if text.key != key || text.entries.len() != bodies.len() {
        return None;
    }
    let entries = text.entries.into_iter().zip(bodies);
    let variants: Option<Vec<_>> = entries
        .map(|(text, body)| entry(text, body).map(Arc::new))
        .collect();
    Some(Resource {
        variants: variants?,
    })
}

/// The head of what answers such a request, and its place among the bodies; nothing if nothing does, or if the record
/// is not of this address.
pub(crate) fn choose(key: &str, record: &[u8], sent: &HeaderMap) -> Option<(usize, Head)> {
    let text: RecordText = serde_json::from_slice(record).ok()?;
    if text.key != key {
        return None;
    }
    let heads: Option<Vec<Head>> = text.entries.into_iter().map(head).collect();
    let mut heads = heads?;
    let at = entry::choose(heads.iter(), sent)?;
    Some((at, heads.swap_remove(at)))
}

/// Whose record it is, and all tags in it.
pub(crate) fn names(record: &[u8]) -> Option<(String, Vec<Box<str>>)> {
    let text: RecordText = serde_json::from_slice(record).ok()?;
    let tags = text.entries.into_iter().flat_map(|entry| entry.tags);
    Some((text.key, tags.collect()))
}

fn entry_text(entry: &Entry) -> Option<EntryText> {
    let head = &entry.head;
    let policy = head.policy.as_ref().ok()?;
    let headers = head.headers.iter().map(|(name, value)| {
        let value = value.to_str().ok()?;
        Some((name.as_str().to_owned(), value.to_owned()))
    });
    Some(EntryText {
        status: head.status.as_u16(),
        origin_status: head.origin_status.as_u16(),
        headers: headers.collect::<Option<_>>()?,
        variant: head.variant.as_bytes().to_vec(),
        tags: entry.tags.clone(),
        policy: [
            policy.lifetime_s,
            policy.initial_age_s,
            policy.came_at_ms,
            policy.stale_while_revalidate_s,
            policy.stale_if_error_s,
            u64::from(policy.no_cache),
            u64::from(policy.must_revalidate),
        ],
    })
}

fn entry(mut text: EntryText, body: Bytes) -> Option<Entry> {
    let tags = std::mem::take(&mut text.tags);
    Some(Entry::new(head(text)?, body, tags))
}

fn head(text: EntryText) -> Option<Head> {
    let mut headers = HeaderMap::with_capacity(text.headers.len());
    for (name, value) in text.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_str(&value).ok()?);
    }
    let [
        lifetime_s,
        initial_age_s,
        came_at_ms,
        refresh_s,
        error_s,
        no_cache,
        must_revalidate,
    ] = text.policy;
    Some(Head {
        status: StatusCode::from_u16(text.status).ok()?,
        varies: Varies::of(&headers),
        headers,
        policy: Ok(Policy {
            lifetime_s,
            initial_age_s,
            came_at_ms,
            stale_while_revalidate_s: refresh_s,
            stale_if_error_s: error_s,
            no_cache: no_cache != 0,
            must_revalidate: must_revalidate != 0,
        }),
        variant: Variant::from_bytes(text.variant),
        origin_status: StatusCode::from_u16(text.origin_status).ok()?,
    })
}

#[cfg(test)]
mod tests;
