//! Which addresses may be dialled: checked on the address itself, so that no name can lead elsewhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::IpNet;

/// The rule for one pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Allow {
    /// Any address: the endpoints are the operator's own.
    #[default]
    Anything,
    /// Addresses of the public internet, and those listed.
    PublicOnly {
        /// Networks that are allowed all the same.
        exceptions: Arc<[IpNet]>,
    },
}

impl Allow {
    /// Whether this address may be dialled.
    pub fn permits(&self, address: IpAddr) -> bool {
        match self {
            Allow::Anything => true,
            Allow::PublicOnly { exceptions } => {
                let meant = reached(address);
                let listed = |address| exceptions.iter().any(|net| net.contains(&address));
                listed(address) || listed(meant) || (is_public(address) && is_public(meant))
            }
        }
    }
}

/// The IPv4 address that an IPv6 address stands for, where it does: what is dialled in the end.
fn reached(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => embedded(six).map_or(address, IpAddr::V4),
    }
}

fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let last = || {
        let [.., a, b, c, d] = address.octets();
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        // ::ffff:a.b.c.d, ::a.b.c.d (old), ::ffff:0:a.b.c.d (SIIT), 64:ff9b::a.b.c.d (NAT64)
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => Some(last()),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(last()),
        [0, 0, 0, 0, 0, 0, high, _] if high != 0 => Some(last()),
        // 2002:aabb:ccdd:: (6to4)
        [0x2002, high, low, ..] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => is_public_v4(four),
        IpAddr::V6(six) => is_public_v6(six),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local() // the metadata services live here
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b)) // shared by carriers; some clouds' metadata
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || address == Ipv4Addr::new(168, 63, 129, 16); // Azure's host agent, public by number only
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // Only what is handed out for the internet; all else (loopback, ULA, link-local, multicast …) is not.
    let global = segments[0] & 0xe000 == 0x2000 || embedded(address).is_some();
    let special = matches!(segments, [0x2001, 0..=0x01ff, ..]) // Teredo, benchmarking, ORCHID
        || matches!(segments, [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..]) // documentation
        || matches!(segments, [0x64, 0xff9b, 1, ..]);
    global && !special
}

#[cfg(test)]
mod tests;
