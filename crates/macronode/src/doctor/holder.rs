//! Who listens on a port: the socket from the kernel's table, the process from its open descriptors.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The process that has a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) pid: u32,
    pub(super) name: String,
}

/// Who keeps `address` from being bound, as far as this user may see it.
pub(super) fn holder(address: SocketAddr) -> Option<Holder> {
    let sockets = sockets(address);
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let pid = processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|pid| has_one(*pid, &sockets))?;
    let name = super::read_line(format!("/proc/{pid}/comm"))?;
    Some(Holder { pid, name })
}

/// Whether a process listens at `address`; nothing where this user cannot see it.
pub(crate) fn listens(pid: u32, address: SocketAddr) -> Option<bool> {
    let sockets = sockets(address);
    if has_one(pid, &sockets) {
        return Some(true);
    }
    let seen = || fs::read_dir(format!("/proc/{pid}/fd")).is_ok() || holder(address).is_some();
    (!sockets.is_empty() && seen()).then_some(false)
}

/// The sockets that listen at `address`, as descriptors name them.
fn sockets(address: SocketAddr) -> Vec<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let listeners = tables
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listeners(&table));
    listeners
        .filter(|(taken, _)| overlap(*taken, address))
        .map(|(_, inode)| format!("socket:[{inode}]"))
        .collect()
}

/// The listening sockets of a `/proc/net/tcp` or `/proc/net/tcp6`: address and inode.
fn listeners(table: &str) -> Vec<(SocketAddr, u64)> {
    const LISTEN: &str = "0A";
    let row = |line: &str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        match cells.as_slice() {
            [_, local, _, LISTEN, _, _, _, _, _, inode, ..] => {
                Some((socket(local)?, inode.parse().ok()?))
            }
            _ => None,
        }
    };
    table.lines().filter_map(row).collect()
}

/// `0100007F:2580`: words of the address as the machine keeps them in memory, the port as a number.
fn socket(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let bytes: Vec<u8> = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}

/// Whether one listener is in the way of another: the same address, or all addresses for one of them.
fn overlap(taken: SocketAddr, wanted: SocketAddr) -> bool {
    let all = |ip: IpAddr| ip == Ipv4Addr::UNSPECIFIED || ip == Ipv6Addr::UNSPECIFIED;
    let (taken_ip, wanted_ip) = (taken.ip(), wanted.ip().to_canonical());
    taken.port() == wanted.port() && (taken_ip == wanted_ip || all(taken_ip) || all(wanted_ip))
}

fn has_one(pid: u32, sockets: &[String]) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    descriptors
        .flatten()
        .filter_map(|descriptor| fs::read_link(descriptor.path()).ok())
        .any(|to| sockets.iter().any(|socket| to.as_os_str() == &**socket))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when";
    const TAIL: &str = "00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0";

    fn row(local: &str, state: &str) -> String {
        format!("{HEAD}\n   0: {local} 00000000:0000 {state} {TAIL}\n")
    }

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn listening_sockets_are_read_and_others_are_not() {
        assert_eq!(
            listeners(&row("0100007F:2580", "0A")),
            [(at("127.0.0.1:9600"), 4711)]
        );
        let six = row("00000000000000000000000001000000:2580", "0A");
        assert_eq!(listeners(&six), [(at("[::1]:9600"), 4711)]);
        let mapped = row("0000000000000000FFFF00000100007F:2580", "0A");
        assert_eq!(listeners(&mapped), [(at("127.0.0.1:9600"), 4711)]);
        assert_eq!(listeners(&row("0100007F:2580", "01")), []);
    }

    #[test]
    fn a_table_that_makes_no_sense_has_no_sockets() {
        for local in ["", ":", "zz:2580", "0100007F:99999", "0100007F", "€€€:0001"] {
            assert_eq!(listeners(&row(local, "0A")), [], "{local}");
        }
    }

    #[test]
    fn a_listener_on_all_addresses_is_in_the_way_of_one() {
        assert!(overlap(at("0.0.0.0:80"), at("127.0.0.1:80")));
        assert!(overlap(at("[::]:80"), at("127.0.0.1:80")));
        assert!(overlap(at("127.0.0.1:80"), at("0.0.0.0:80")));
        assert!(!overlap(at("127.0.0.1:80"), at("127.0.0.2:80")));
        assert!(!overlap(at("127.0.0.1:80"), at("127.0.0.1:81")));
    }

    // req: ND-01
    #[test]
    fn the_process_that_listens_is_found() {
        // An address of this test alone, so that no other test takes the port over.
        let listener = TcpListener::bind("127.0.77.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(holder(address).map(|it| it.pid), Some(std::process::id()));
        drop(listener);
        assert_eq!(holder(address), None);
    }
}
