//! Who asks: the rightmost address of the trail that no trusted proxy vouches for.

use crate::authority::Authority;
use crate::text::{list, unquoted_split};
use http::header::{self, HeaderMap, HeaderValue};
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

/// A chain of proxies longer than this is somebody's invention; nobody reads further back.
const STEPS_MAX: usize = 32;

/// Which header the trusted proxies write. Only that one is read: the other may be the client's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trail {
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl Trail {
    /// The one that is there: `X-Forwarded-For` before `Forwarded`, which a proxy that writes the former may have
    /// passed on as it came.
    pub fn of(headers: &HeaderMap) -> Self {
        match headers.contains_key("x-forwarded-for") {
            true => Trail::XForwardedFor,
            false => Trail::Forwarded,
        }
    }
}

/// The client's address, given that the connection comes from `hop`.
///
/// A hop that is not trusted is the client, whatever it says. Otherwise the trail is walked from its right end while
/// the addresses are trusted; the first that is not is the client. An entry that is no address ends the walk at the
/// last hop that was known.
pub fn client_address(headers: &HeaderMap, hop: IpAddr, trusted: &[IpNet], trail: Trail) -> IpAddr {
    let hop = hop.to_canonical();
    if !is_trusted(hop, trusted) {
        return hop;
    }
    match trail {
        Trail::XForwardedFor => {
            let lines = headers.get_all("x-forwarded-for").iter().rev();
            let entries = lines.flat_map(|line| list(line).rev());
            walk(hop, entries.map(address), trusted)
        }
        Trail::Forwarded => {
            let lines = headers.get_all(header::FORWARDED).iter().rev();
            walk(hop, lines.flat_map(forwarded), trusted)
        }
    }
}

fn walk(hop: IpAddr, trail: impl Iterator<Item = Option<IpAddr>>, trusted: &[IpNet]) -> IpAddr {
    let mut client = hop;
    for entry in trail.take(STEPS_MAX) {
        let Some(address) = entry else {
            break;
        };
        client = address;
        if !is_trusted(client, trusted) {
            break;
        }
    }
    client
}

/// By which scheme the client came, as the trusted proxies say in `Forwarded`.
pub fn client_proto(headers: &HeaderMap, trusted: &[IpNet]) -> Option<&'static str> {
    parameter(about_client(headers, trusted)?, b"proto=").and_then(scheme)
}

/// For which host the client came, as the trusted proxies say in `Forwarded`.
pub fn client_host<'a>(headers: &'a HeaderMap, trusted: &[IpNet]) -> Option<&'a str> {
    let host = parameter(about_client(headers, trusted)?, b"host=")?;
    let host = unquoted(std::str::from_utf8(host).ok()?);
    Authority::parse(host).map(|authority| authority.text)
}

/// The element that ends the walk of [`client_address`] was written by the last proxy that is trusted, about whoever
/// came to it.
fn about_client<'a>(headers: &'a HeaderMap, trusted: &[IpNet]) -> Option<&'a [u8]> {
    let lines = headers.get_all(header::FORWARDED).iter().rev();
    let mut last = None;
    for element in lines.flat_map(elements).take(STEPS_MAX) {
        last = Some(element);
        if !forwarded_for(element).is_some_and(|address| is_trusted(address, trusted)) {
            break;
        }
    }
    last
}

fn scheme(value: &[u8]) -> Option<&'static str> {
    let value = unquoted(std::str::from_utf8(value).ok()?);
    let known = ["http", "https"].into_iter();
    { known }.find(|known| value.eq_ignore_ascii_case(known))
}

/// Whether `address` is in one of the networks; an IPv4 address written as IPv6 counts as IPv4.
pub fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    let address = address.to_canonical();
    trusted.iter().any(|net| net.contains(&address))
}

/// An address with or without brackets, quotes and a port.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?;
    let text = unquoted(text);
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let alone = bare.unwrap_or(text).parse::<IpAddr>().ok();
    let address = alone.or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.map(|address| address.to_canonical())
}

/// The `for` of each element from the last to the first.
fn forwarded(line: &HeaderValue) -> impl Iterator<Item = Option<IpAddr>> {
    elements(line).map(forwarded_for)
}

/// From the last to the first. A comma or semicolon in quotes separates nothing: a host that a client made up must not
/// become an element.
fn elements(line: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    let elements = unquoted_split(line.as_bytes(), b',');
    let elements = elements.unwrap_or_else(|| vec![b"" as &[u8]]);
    elements.into_iter().rev()
}

fn forwarded_for(element: &[u8]) -> Option<IpAddr> {
    address(parameter(element, b"for=")?)
}

/// What stands behind this beginning of a pair.
fn parameter<'a>(element: &'a [u8], named: &[u8]) -> Option<&'a [u8]> {
    let pairs = unquoted_split(element, b';')?;
    pairs.into_iter().find_map(|pair| {
        let (name, value) = pair.split_at_checked(named.len())?;
        name.eq_ignore_ascii_case(named).then_some(value)
    })
}

fn unquoted(text: &str) -> &str {
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text)
}

#[cfg(test)]
mod tests;
