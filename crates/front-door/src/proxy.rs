//! The PROXY protocol, versions 1 and 2: whom a proxy speaks for. Pure; the caller reads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The longest header that is read, with all the extras version 2 may carry.
pub(crate) const LONGEST: usize = 4096;
/// The longest of version 1.
const LONGEST_1: usize = 107;

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const HEAD: usize = 16;

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// Not all there.
    More,
    /// A header of so many bytes.
    Header {
        speaks_for: SpeaksFor,
        length: usize,
    },
    /// No header, for this reason.
    Bad(&'static str),
}

/// Whose connection it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpeaksFor {
    /// The proxy's own.
    Itself,
    /// A client's, and the address that it connected to.
    Client(SocketAddr, SocketAddr),
    /// Somebody's: what is said on it is not the proxy's word.
    Nobody,
}

impl SpeaksFor {
    /// The client and what it connected to, on a connection of these ends. Nobody has an address that nobody has.
    pub(crate) fn ends(self, peer: SocketAddr, local: SocketAddr) -> (SocketAddr, SocketAddr) {
        match self {
            Self::Itself => (peer, local),
            Self::Client(client, target) => (client, target),
            Self::Nobody => (SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0), local),
        }
    }
}

/// Looks at the first bytes of a connection.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let second = bytes.len().min(SIGNATURE.len());
    if bytes[..second] == SIGNATURE[..second] {
        return parse_2(bytes);
    }
    let first = bytes.len().min(6);
    if bytes[..first] == b"PROXY "[..first] {
        return parse_1(bytes);
    }
    Parsed::Bad("no PROXY header")
}

fn parse_1(bytes: &[u8]) -> Parsed {
    let head = &bytes[..bytes.len().min(LONGEST_1)];
    let Some(end) = memchr::memchr(b'\n', head) else {
        return match head.len() {
            LONGEST_1 => Parsed::Bad("the PROXY line has no end"),
            _ => Parsed::More,
        };
    };
    let line = head[..end].strip_suffix(b"\r");
    let Some(line) = line.and_then(|line| std::str::from_utf8(line).ok()) else {
        return Parsed::Bad("the PROXY line is no line");
    };
    let length = end + 1;
    let mut words = line.split(' ').skip(1);
    let family = words.next();
    if family == Some("UNKNOWN") {
        return Parsed::Header {
            speaks_for: SpeaksFor::Nobody,
            length,
        };
    }
    let words: Vec<&str> = words.collect();
    let (&[source, target, source_port, target_port], Some(family)) = (&words[..], family) else {
        return Parsed::Bad("the PROXY line has not six words");
    };
    let source = endpoint(family, source, source_port);
    match source.zip(endpoint(family, target, target_port)) {
        Some((client, target)) => Parsed::Header {
            speaks_for: SpeaksFor::Client(client, target),
            length,
        },
        None => Parsed::Bad("the PROXY line names no addresses"),
    }
}

fn endpoint(family: &str, address: &str, port: &str) -> Option<SocketAddr> {
    let address = match family {
        "TCP4" => IpAddr::V4(address.parse().ok()?),
        "TCP6" => IpAddr::V6(address.parse().ok()?),
        _ => return None,
    };
    let plain = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = plain.then(|| port.parse().ok()).flatten()?;
    Some(SocketAddr::new(address, port))
}

fn parse_2(bytes: &[u8]) -> Parsed {
    let Some(head) = bytes.first_chunk::<HEAD>() else {
        return Parsed::More;
    };
    let [.., command, family, a, b] = *head;
    let length = HEAD + usize::from(u16::from_be_bytes([a, b]));
    if length > LONGEST {
        return Parsed::Bad("the PROXY header is too long");
    }
    let Some(body) = bytes.get(HEAD..length) else {
        return Parsed::More;
    };
    let header = |speaks_for| Parsed::Header { speaks_for, length };
    let addresses = match (command, family) {
        // To see whether we live.
        (0x20, _) => return header(SpeaksFor::Itself),
        (0x21, 0x11) => addresses_4(body),
        (0x21, 0x21) => addresses_6(body),
        // Of a kind that says nothing about addresses as we know them: unknown, datagrams, sockets of a file system.
        (0x21, 0x00 | 0x12 | 0x22 | 0x31 | 0x32) => return header(SpeaksFor::Nobody),
        (0x21, _) => return Parsed::Bad("the PROXY header names no family that there is"),
        _ => return Parsed::Bad("the PROXY header has an unknown version or command"),
    };
    match addresses {
        Some((client, target)) => header(SpeaksFor::Client(client, target)),
        None => Parsed::Bad("the PROXY header is too short for its addresses"),
    }
}

fn addresses_4(body: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let (source, rest) = body.split_first_chunk::<4>()?;
    let (target, rest) = rest.split_first_chunk::<4>()?;
    let ports = rest.first_chunk::<4>()?;
    Some(pair(
        Ipv4Addr::from(*source),
        Ipv4Addr::from(*target),
        *ports,
    ))
}

fn addresses_6(body: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let (source, rest) = body.split_first_chunk::<16>()?;
    let (target, rest) = rest.split_first_chunk::<16>()?;
    let ports = rest.first_chunk::<4>()?;
    Some(pair(
        Ipv6Addr::from(*source),
        Ipv6Addr::from(*target),
        *ports,
    ))
}

fn pair(
    source: impl Into<IpAddr>,
    target: impl Into<IpAddr>,
    [a, b, c, d]: [u8; 4],
) -> (SocketAddr, SocketAddr) {
    (
        SocketAddr::new(source.into(), u16::from_be_bytes([a, b])),
        SocketAddr::new(target.into(), u16::from_be_bytes([c, d])),
    )
}

#[cfg(test)]
mod tests;
