//! Can every address of the config be listened on?

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use kernel::serve::Door;
use svc_edge::Edge;
use svc_gateway::Gateway;

use super::finding::Finding;
use super::holder::{Holder, holder};
use crate::config::NodeText;
use crate::doors::{DoorError, elsewhere};

/// One finding an address. All are held until the last is judged, so that two of the same address collide.
pub(super) fn findings(text: &NodeText) -> Vec<Finding> {
    let mut held: Vec<Arc<Door>> = Vec::new();
    let mut findings = Vec::new();
    for (key, address) in addresses(text) {
        let error = match Door::bind(key, address) {
            Ok(door) => {
                held.push(door);
                None
            }
            Err(error) => Some(error),
        };
        findings.push(judge(key, address, error, || taken_by(address)));
    }
    findings
}

fn addresses(text: &NodeText) -> Vec<(&'static str, SocketAddr)> {
    let mut all = vec![("admin.listen", text.admin.listen)];
    if let Some(demo) = &text.demo {
        all.push(("demo.listen", demo.listen));
        let crowd = demo.crowd.iter();
        all.extend(crowd.map(|crowd| ("demo.crowd.origin", crowd.origin)));
    }
    if let Some(gateway) = &text.gateway {
        let (plain, secure) = Gateway::addresses(gateway);
        all.extend(plain.into_iter().map(|at| ("gateway.listen", at)));
        all.extend(secure.into_iter().map(|at| ("gateway.tls.listen", at)));
    }
    if let Some(edge) = &text.edge {
        let (plain, secure) = Edge::addresses(edge);
        all.extend(plain.into_iter().map(|at| ("edge.listen", at)));
        all.extend(secure.into_iter().map(|at| ("edge.tls.listen", at)));
    }
    if let Some(transport) = &text.transport {
        let (plain, secure) = transport.addresses();
        all.extend(plain.into_iter().map(|at| ("transport.listen", at)));
        all.extend(secure.into_iter().map(|at| ("transport.tls.listen", at)));
    }
    if let Some(overlay) = &text.overlay {
        let (plain, secure) = overlay.addresses();
        all.extend(plain.into_iter().map(|at| ("overlay.listen", at)));
        all.extend(secure.into_iter().map(|at| ("overlay.tls.listen", at)));
    }
    all
}

/// Who is in the way.
enum Taken {
    /// Another address of the same config.
    Ourselves,
    /// Another process.
    By(Holder),
    /// Someone this user may not look at.
    Unseen,
}

fn taken_by(address: SocketAddr) -> Taken {
    match holder(address) {
        Some(holder) if holder.pid == std::process::id() => Taken::Ourselves,
        Some(holder) => Taken::By(holder),
        None => Taken::Unseen,
    }
}

fn judge(
    key: &'static str,
    address: SocketAddr,
    error: Option<io::Error>,
    taken_by: impl FnOnce() -> Taken,
) -> Finding {
    let Some(error) = error else {
        return Finding::fine(key, format!("{address} is free"));
    };
    let in_use = error.kind() == io::ErrorKind::AddrInUse;
    let error = DoorError {
        key,
        address,
        error,
    };
    let remedy = error
        .remedy()
        .unwrap_or_else(|| format!("choose another: {}", elsewhere(key)));
    if !in_use {
        return Finding::fault(key, format!("{address}: {}", error.error), remedy);
    }
    match taken_by() {
        Taken::Ourselves => {
            let said = format!("{address} is asked for twice by this config");
            Finding::fault(key, said, format!("choose another: {}", elsewhere(key)))
        }
        // A machine whose node runs is not sick; only a second node would not start.
        Taken::By(holder) if holder.name == "macronode" => Finding::warn(
            key,
            format!(
                "{address} is taken by a running macronode, pid {}",
                holder.pid
            ),
            format!(
                "to start another, `macronode drain` that one first, or choose another port: {}",
                elsewhere(key)
            ),
        ),
        Taken::By(Holder { pid, name }) => {
            let said = format!("{address} is taken by {name}, pid {pid}");
            let remedy = format!("stop it, or choose another port: {}", elsewhere(key));
            Finding::fault(key, said, remedy)
        }
        Taken::Unseen => Finding::fault(key, format!("{address} is taken"), remedy),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::finding::Verdict;
    use super::*;

    fn judged(error: io::ErrorKind, taken: Taken) -> Finding {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        judge("admin.listen", address, Some(error.into()), || taken)
    }

    fn by(name: &str) -> Taken {
        Taken::By(Holder {
            pid: 7,
            name: name.to_owned(),
        })
    }

    fn text(admin: SocketAddr, demo: SocketAddr) -> NodeText {
        let mut text = NodeText::default();
        text.admin.listen = admin;
        text.demo.get_or_insert_default().listen = demo;
        text
    }

    // req: ND-01
    #[test]
    fn a_taken_port_names_who_has_it() {
        let found = judged(io::ErrorKind::AddrInUse, by("nginx"));
        assert_eq!(found.verdict, Verdict::Fault);
        assert_eq!(found.said, "127.0.0.1:80 is taken by nginx, pid 7");
        let unseen = judged(io::ErrorKind::AddrInUse, Taken::Unseen);
        assert_eq!(unseen.verdict, Verdict::Fault);
        assert!(unseen.remedy.unwrap().contains("ss -ltnp"));
    }

    #[test]
    fn a_running_node_is_no_fault() {
        let found = judged(io::ErrorKind::AddrInUse, by("macronode"));
        assert_eq!(found.verdict, Verdict::Warn);
        assert!(found.said.contains("pid 7"), "{}", found.said);
    }

    #[test]
    fn a_port_without_the_permission_says_which_permission() {
        let found = judged(io::ErrorKind::PermissionDenied, Taken::Unseen);
        assert_eq!(found.verdict, Verdict::Fault);
        assert!(found.remedy.unwrap().contains("CAP_NET_BIND_SERVICE"));
    }

    // req: KN-13, ND-01
    #[test]
    fn what_is_advised_for_an_address_can_be_set() {
        let lists = ["gateway", "edge", "transport", "overlay"]
            .iter()
            .flat_map(|of| [format!("{of}.listen"), format!("{of}.tls.listen")]);
        let single = ["admin.listen", "demo.listen", "demo.crowd.origin"].map(str::to_owned);
        for key in lists.chain(single) {
            let advice = elsewhere(&key).replace("IP:PORT", "127.0.0.1:1");
            let set = advice.strip_prefix("--set ").unwrap().replace('\'', "");
            let loaded = strict_config::load::<NodeText>(&strict_config::Sources {
                sets: vec![set],
                ..Default::default()
            });
            let said = loaded.err().map(|mistakes| mistakes.to_string());
            let about_it = said.filter(|said| said.contains("as TOML writes it"));
            assert_eq!(about_it, None, "{advice}");
        }
    }

    // req: ND-01
    #[test]
    fn addresses_are_really_tried() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let found = findings(&text(taken.local_addr().unwrap(), any));
        let verdicts: Vec<_> = found.iter().map(|found| found.verdict).collect();
        assert_eq!(verdicts, [Verdict::Fault, Verdict::Fine]);
    }

    #[test]
    fn one_address_for_two_doors_is_a_fault() {
        // An address of this test alone, so that no other test takes the port in between.
        let free = TcpListener::bind("127.0.77.2:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let found = findings(&text(address, address));
        assert_eq!(found[0].verdict, Verdict::Fine, "{}", found[0].said);
        assert_eq!(found[1].verdict, Verdict::Fault);
        assert!(found[1].said.contains("twice"), "{}", found[1].said);
    }
}
