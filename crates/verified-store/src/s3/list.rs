//! A page of a listing: the few elements that matter of an XML body.

use super::S3Error;
use crate::Hash;

/// Some of the records in a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Their keys.
    pub keys: Vec<Hash>,
    /// What to ask the next page with; none if this was the last.
    pub next: Option<String>,
}

/// Reads the body of an answer to [`list_records`](super::Bucket::list_records), which the caller has bounded.
///
/// What is listed there under other names is not ours, and passed over.
pub fn read_page(body: &[u8]) -> Result<Page, S3Error> {
    let text = str::from_utf8(body).map_err(|_| S3Error::Malformed)?;
    let inside = element(text, "ListBucketResult")
        .ok_or(S3Error::Malformed)?
        .0;
    let truncated = element(inside, "IsTruncated").map_or("false", |(value, _)| value);
    let next = match truncated.trim() {
        "true" => {
            let token = element(inside, "NextContinuationToken")
                .ok_or(S3Error::Malformed)?
                .0;
            Some(unescape(token).ok_or(S3Error::Malformed)?)
        }
        _ => None,
    };
    let mut keys = Vec::new();
    let mut rest = inside;
    while let Some((content, behind)) = element(rest, "Contents") {
        // A hash needs no escapes, so one that has any is not ours.
        let key = element(content, "Key").map(|(key, _)| key.rsplit('/').next().unwrap_or(key));
        keys.extend(key.and_then(|key| key.parse::<Hash>().ok()));
        rest = behind;
    }
    Ok(Page { keys, next })
}

/// The text of the first element of that name, and what is behind it. Elements of that name must not nest.
fn element<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let mut rest = text;
    loop {
        let start = rest.find('<')? + 1;
        rest = &rest[start..];
        let Some(after) = rest.strip_prefix(name) else {
            continue;
        };
        let after = match after.as_bytes().first()? {
            b'>' => &after[1..],
            b' ' | b'\n' | b'\t' | b'\r' => &after[after.find('>')? + 1..],
            _ => continue,
        };
        let close = format!("</{name}>");
        let end = after.find(&close)?;
        return Some((&after[..end], &after[end + close.len()..]));
    }
}

fn unescape(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut parts = text.split('&');
    plain.push_str(parts.next()?);
    for part in parts {
        let (entity, rest) = part.split_once(';')?;
        plain.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => char::from_u32(number(entity)?)?,
        });
        plain.push_str(rest);
    }
    Some(plain)
}

fn number(entity: &str) -> Option<u32> {
    let digits = entity.strip_prefix('#')?;
    match digits.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
