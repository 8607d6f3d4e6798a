//! Preconditions in the order of RFC 9110 13.2.2.

use crate::date;
use crate::etag::{self, ETag};
use http::Method;
use http::header::{self, HeaderMap, HeaderName};

/// What is known of the representation that would be sent or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validators<'a> {
    /// Its tag.
    pub etag: Option<ETag<'a>>,
    /// When it last changed, in seconds since 1970.
    pub last_modified: Option<u64>,
}

/// What the conditions of a request come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on; `range` says whether a `Range` is to be honoured.
    Proceed {
        /// The method is GET, there is a `Range`, and `If-Range` does not forbid it.
        range: bool,
    },
    /// 304.
    NotModified,
    /// 412.
    PreconditionFailed,
}

/// Evaluates the conditions of a request against what there is; `None` when there is no representation. `now` is in
/// seconds since 1970.
pub fn evaluate(
    method: &Method,
    headers: &HeaderMap,
    current: Option<&Validators<'_>>,
    now: u64,
) -> Verdict {
    if has_none(headers) {
        return Verdict::Proceed { range: false };
    }
    let safe = *method == Method::GET || *method == Method::HEAD;
    let failed = match headers.contains_key(header::IF_MATCH) {
        true => !if_match(headers, current),
        false => changed_since(headers, header::IF_UNMODIFIED_SINCE, current, now) == Some(true),
    };
    if failed {
        return Verdict::PreconditionFailed;
    }
    let unchanged = match headers.contains_key(header::IF_NONE_MATCH) {
        true => !if_none_match(headers, current, safe),
        false => {
            safe && changed_since(headers, header::IF_MODIFIED_SINCE, current, now) == Some(false)
        }
    };
    match (unchanged, safe) {
        (true, true) => Verdict::NotModified,
        (true, false) => Verdict::PreconditionFailed,
        (false, _) => Verdict::Proceed {
            range: *method == Method::GET
                && headers.contains_key(header::RANGE)
                && current.is_some_and(|current| if_range(headers, current, now)),
        },
    }
}

/// What makes a request more than a plain one.
static DECIDING: [HeaderName; 5] = [
    header::IF_MATCH,
    header::IF_UNMODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::RANGE,
];
/// Up to so many fields are read one after another: that costs less than a look for each condition.
const FEW: usize = 16;

fn has_none(headers: &HeaderMap) -> bool {
    headers.len() <= FEW && !headers.keys().any(|name| DECIDING.contains(name))
}

/// What a list of tags says of a representation.
enum Listed {
    Star,
    Named,
    NotNamed,
    /// Something in it is no tag.
    Unreadable,
}

fn listed(headers: &HeaderMap, name: HeaderName, is: impl Fn(&ETag<'_>) -> bool) -> Listed {
    let lines = || headers.get_all(&name).iter().map(|line| line.as_bytes());
    if lines().count() == 1 && lines().all(|line| line.trim_ascii() == b"*") {
        return Listed::Star;
    }
    let mut result = Listed::NotNamed;
    for tag in lines().flat_map(etag::list) {
        match tag {
            Some(tag) if is(&tag) => return Listed::Named,
            Some(_) => (),
            None => result = Listed::Unreadable,
        }
    }
    result
}

fn if_match(headers: &HeaderMap, current: Option<&Validators<'_>>) -> bool {
    let own = current.and_then(|current| current.etag);
    let is = |tag: &ETag<'_>| own.is_some_and(|own| own.strongly_is(tag));
    match listed(headers, header::IF_MATCH, is) {
        Listed::Star => current.is_some(),
        Listed::Named => true,
        Listed::NotNamed | Listed::Unreadable => false,
    }
}

/// A list that cannot be read is no reason to withhold a representation, but one not to overwrite it.
fn if_none_match(headers: &HeaderMap, current: Option<&Validators<'_>>, safe: bool) -> bool {
    let own = current.and_then(|current| current.etag);
    let is = |tag: &ETag<'_>| own.is_some_and(|own| own.weakly_is(tag));
    match listed(headers, header::IF_NONE_MATCH, is) {
        Listed::Star => current.is_none(),
        Listed::Named => false,
        Listed::NotNamed => true,
        Listed::Unreadable => safe,
    }
}

/// Whether the representation is newer than the date; nothing when there is no date, or none to compare with.
fn changed_since(
    headers: &HeaderMap,
    name: HeaderName,
    current: Option<&Validators<'_>>,
    now: u64,
) -> Option<bool> {
    let modified = current?.last_modified?;
    let date = date::parse(single(headers, &name)?, now)?;
    Some(modified > date)
}

/// A weak tag never holds, and a date only if it is exact and its second is over.
fn if_range(headers: &HeaderMap, current: &Validators<'_>, now: u64) -> bool {
    if !headers.contains_key(header::IF_RANGE) {
        return true;
    }
    let Some(value) = single(headers, &header::IF_RANGE) else {
        return false;
    };
    match ETag::parse(value) {
        Some(tag) => current.etag.is_some_and(|own| own.strongly_is(&tag)),
        None => {
            let date = date::parse(value, now);
            date.is_some() && date == current.last_modified && date < Some(now)
        }
    }
}

fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut lines = headers.get_all(name).iter();
    let line = lines.next().map(|line| line.as_bytes());
    line.filter(|_| lines.next().is_none())
}

#[cfg(test)]
mod tests;
