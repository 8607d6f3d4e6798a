//! Names that servers behind may read as another name: CGI and its heirs turn what is no letter or digit into `_`.

use crate::forward::means_something;
use http::header::HeaderName;

/// What a name is made of where nobody reads it as another: letters are small in a [`HeaderName`].
static PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < plain.len() {
        let this = byte as u8;
        plain[byte] = this == b'-' || this.is_ascii_lowercase() || this.is_ascii_digit();
        byte += 1;
    }
    plain
};

/// How a name may be read as another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alias {
    /// By its underscore.
    Underscore,
    /// By another character that is no letter, digit or `-`.
    Other,
    /// By a dot, and the other name means nothing to us.
    Dot,
}

/// Every name with such a character is one, not only those we give a meaning: a list of names worth protecting would
/// never be whole. Only dots are in names that people do send, so these are told apart, unless they stand for a name
/// that means something, or for the dash of an `x-` name.
pub(crate) fn alias(name: &HeaderName) -> Option<Alias> {
    let text = name.as_str();
    match text.bytes().all(|byte| PLAIN[usize::from(byte)]) {
        true => None,
        false => Some(of_odd(text)),
    }
}

fn of_odd(text: &str) -> Alias {
    if text.contains('_') {
        return Alias::Underscore;
    }
    let dotted = |byte: u8| byte == b'.' || PLAIN[usize::from(byte)];
    let read = text.replace('.', "-");
    let harmless = text.bytes().all(dotted)
        && !text.starts_with("x.")
        && HeaderName::from_bytes(read.as_bytes()).is_ok_and(|read| !means_something(&read));
    if harmless { Alias::Dot } else { Alias::Other }
}

#[cfg(test)]
mod tests;
