//! The host and port a request is for, read strictly and in one way.

use std::borrow::Cow;
use std::net::Ipv6Addr;

/// DNS bounds a name at 253 characters.
const NAME_BYTES_MAX: usize = 253;
/// The dot that may end it and the longest port add seven.
const TEXT_BYTES_MAX: usize = NAME_BYTES_MAX + 7;

/// The one authority of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority<'a> {
    /// Lower-case, without port and the dot that may end a name; an IPv6 address in its one canonical spelling, in
    /// brackets. Empty only for HTTP/1.0 without `Host`. Borrowed unless the client wrote capitals or such an address.
    pub host: Cow<'a, str>,
    /// The port as written.
    pub port: Option<u16>,
    /// As the client wrote it, port included: harmless in a header.
    pub text: &'a str,
}

impl<'a> Authority<'a> {
    /// What a request without any authority has.
    pub const NONE: Authority<'static> = Authority {
        host: Cow::Borrowed(""),
        port: None,
        text: "",
    };

    /// Reads `host[:port]`. Lists, user names, escapes, empty ports and zone ids are refused, though a URI might
    /// hold some of them: two readers would not agree on what they mean.
    pub fn parse(text: &'a str) -> Option<Self> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (host, port) = split(text)?;
        let port = match port {
            None => None,
            Some(digits) => Some(parse_port(digits)?),
        };
        let host = match host.starts_with('[') {
            true => literal(host)?,
            false => lower(name(host)?),
        };
        Some(Authority { host, port, text })
    }

    /// Whether both name the same place, the default port of `scheme` written or not.
    pub fn same(&self, other: &Authority<'_>, scheme: Option<&str>) -> bool {
        let default = match scheme {
            Some("http") => Some(80),
            Some("https") => Some(443),
            _ => None,
        };
        self.host == other.host && self.port.or(default) == other.port.or(default)
    }
}

fn split(text: &str) -> Option<(&str, Option<&str>)> {
    let host_end = match text.as_bytes().first()? {
        b'[' => text.find(']')? + 1,
        // A host is short: bytes are looked through faster than any search begins.
        _ => text
            .bytes()
            .position(|byte| byte == b':')
            .unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(host_end);
    match rest {
        "" => Some((host, None)),
        _ => Some((host, Some(rest.strip_prefix(':')?))),
    }
}

fn parse_port(digits: &str) -> Option<u16> {
    let plain = digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let port = plain.then(|| digits.parse().ok()).flatten();
    port.filter(|port| *port != 0)
}

/// `[0:0::1]` is `[::1]` to every resolver behind, so it is to whoever decides by it.
fn literal(host: &str) -> Option<Cow<'_, str>> {
    let inner = host.strip_prefix('[')?.strip_suffix(']')?;
    let address: Ipv6Addr = inner.parse().ok()?;
    Some(Cow::Owned(format!("[{address}]")))
}

/// Letters, digits, `-`, `_` (container networks use it) in labels that are not empty.
fn name(host: &str) -> Option<&str> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let mut before = b'.';
    for byte in host.bytes() {
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !plain && (byte != b'.' || before == b'.') {
            return None;
        }
        before = byte;
    }
    (before != b'.' && host.len() <= NAME_BYTES_MAX).then_some(host)
}

fn lower(host: &str) -> Cow<'_, str> {
    match host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(host.to_ascii_lowercase()),
        false => Cow::Borrowed(host),
    }
}

#[cfg(test)]
mod tests;
