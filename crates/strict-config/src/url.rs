//! Which parts of a URL nobody shall read: who asks, and what follows `?`, both often credentials.

use std::ops::Range;

use crate::secret::MASK;

/// A URL, or what was meant for one, as it may be shown: with user and query masked.
pub fn masked_url(text: &str) -> String {
    let mut shown = text.to_owned();
    for range in hidden(text).into_iter().rev() {
        shown.replace_range(range, MASK);
    }
    shown
}

pub(crate) fn has_hidden(text: &str) -> bool {
    !hidden(text).is_empty()
}

/// Whether it was printed, so that what belongs there is lost.
pub(crate) fn is_masked(text: &str) -> bool {
    hidden(text).into_iter().any(|range| text[range] == *MASK)
}

/// The parts in their order. What is no URL has a user as well: nobody knows better where it was to end.
fn hidden(text: &str) -> Vec<Range<usize>> {
    let from = text.find("://").map_or(0, |at| at + 3);
    let authority = text[from..].split(['/', '?', '#']).next();
    let user = match authority.is_some_and(is_host) {
        true => None,
        false => text.rfind('@').filter(|at| *at > from),
    };
    let after = user.unwrap_or(from);
    let query = text[after..].find('?').map(|at| after + at + 1);
    let user = user.map(|at| from..at);
    let query = query.map(|at| at..text.len());
    let parts = user.into_iter().chain(query);
    parts.filter(|part| !part.is_empty()).collect()
}

/// Whether it is nothing, as in front of a path, or a host that may have a port, and surely nothing else.
fn is_host(authority: &str) -> bool {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    !authority.contains('@') && (authority.ends_with(']') || port.is_none_or(is_port))
}

#[cfg(test)]
mod tests;
