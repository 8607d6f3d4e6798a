//! The node's listeners: inherited from systemd where given, bound otherwise, before anything starts.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use kernel::serve::Door;
use kernel::tree::ChildSpec;
use listenfd::ListenFd;
use svc_edge::{Edge, tree as edge};
use svc_gateway::Gateway;
use svc_gateway::tree as gateway;
use svc_transport::config::TransportText;
use svc_transport::tree as transport;

use crate::config::NodeText;
use crate::demo::origin::ORIGIN;
use crate::handover::ASKED;
use crate::overlay::config::OverlayText;
use crate::overlay::tree as overlay;

/// The bound listeners.
#[derive(Clone)]
pub(crate) struct Doors {
    /// Of the admin server.
    pub(crate) admin: Arc<Door>,
    /// Of the gateway, without TLS.
    pub(crate) gateway: Vec<Arc<Door>>,
    /// Of the gateway, with TLS.
    pub(crate) gateway_tls: Vec<Arc<Door>>,
    /// Of the edge, without TLS.
    pub(crate) edge: Vec<Arc<Door>>,
    /// Of the edge, with TLS.
    pub(crate) edge_tls: Vec<Arc<Door>>,
    /// Of the transport, without TLS.
    pub(crate) transport: Vec<Arc<Door>>,
    /// Of the transport, with TLS.
    pub(crate) transport_tls: Vec<Arc<Door>>,
    /// Of the overlay, without TLS.
    pub(crate) overlay: Option<Arc<Door>>,
    /// Of the overlay, with TLS.
    pub(crate) overlay_tls: Option<Arc<Door>>,
    /// Of the demonstration.
    pub(crate) demo: Option<Arc<Door>>,
    /// Of the demonstration's origin.
    pub(crate) origin: Option<Arc<Door>>,
    /// Where each was to listen. What systemd gave may be elsewhere.
    asked: BTreeMap<&'static str, SocketAddr>,
}

/// An open socket for a successor.
pub(crate) struct Socket {
    /// Of its door.
    pub(crate) name: &'static str,
    /// Where the config asked for it.
    pub(crate) asked: SocketAddr,
    pub(crate) fd: OwnedFd,
}

/// Why a listener could not be had.
#[derive(Debug)]
pub(crate) struct DoorError {
    /// The config key with the address.
    pub(crate) key: &'static str,
    /// The address.
    pub(crate) address: SocketAddr,
    /// What the system said.
    pub(crate) error: io::Error,
}

impl DoorError {
    /// What to do about it, for the usual causes.
    pub(crate) fn remedy(&self) -> Option<String> {
        let (key, port) = (self.key, self.address.port());
        let cause = match self.error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("find who has it with `ss -ltnp 'sport = :{port}'`")
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need CAP_NET_BIND_SERVICE or socket activation".to_owned()
            }
            io::ErrorKind::AddrNotAvailable => {
                "this machine has no such address; see `ip addr`".to_owned()
            }
            _ => return None,
        };
        Some(format!("{cause}, or choose another: {}", elsewhere(key)))
    }
}

/// How another address is given to a key on the command line: some have one, most a list of them.
pub(crate) fn elsewhere(key: &str) -> String {
    match key {
        "admin.listen" | "demo.listen" | "demo.crowd.origin" => format!("--set {key}=IP:PORT"),
        _ => format!("--set '{key}=[\"IP:PORT\"]'"),
    }
}

impl std::fmt::Display for DoorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (key, address, error) = (self.key, self.address, &self.error);
        write!(f, "{key} = \"{address}\": cannot listen there: {error}")?;
        match self.remedy() {
            Some(remedy) => write!(f, "\n  remedy: {remedy}"),
            None => Ok(()),
        }
    }
}

impl Doors {
    /// Takes or binds every listener that `text` asks for.
    pub(crate) fn open(text: &NodeText) -> Result<Self, DoorError> {
        let mut inherited = Inherited::from_environment();
        let mut asked = BTreeMap::new();
        let mut door = |name, key, address| {
            asked.insert(name, address);
            let opened = match inherited.take(name, address) {
                Some(listener) => Door::new(name, listener),
                None => Door::bind(name, address),
            };
            opened.map_err(|error| DoorError {
                key,
                address,
                error,
            })
        };
        // Those that may be inherited without a name come first, in the order that is promised.
        let admin = door("admin", "admin.listen", text.admin.listen)?;
        let demo_text = text.demo.as_ref();
        let demo = demo_text.map(|demo| door("demo", "demo.listen", demo.listen));
        let demo = demo.transpose()?;
        let (plain, secure) = match &text.gateway {
            Some(gateway) => Gateway::addresses(gateway),
            None => Default::default(),
        };
        let mut doors = |key, specs: &'static [ChildSpec], addresses: Vec<SocketAddr>| {
            let named = specs.iter().zip(addresses);
            named
                .map(|(spec, address)| door(spec.name, key, address))
                .collect::<Result<Vec<_>, _>>()
        };
        let gateway = doors("gateway.listen", &gateway::HTTP, plain)?;
        let gateway_tls = doors("gateway.tls.listen", &gateway::TLS, secure)?;
        let of_edge = text.edge.as_ref().map(Edge::addresses);
        let (plain, secure) = of_edge.unwrap_or_default();
        let edge = doors("edge.listen", &edge::HTTP, plain)?;
        let edge_tls = doors("edge.tls.listen", &edge::TLS, secure)?;
        let of_transport = text.transport.as_ref().map(TransportText::addresses);
        let (plain, secure) = of_transport.unwrap_or_default();
        let transport = doors("transport.listen", &transport::TCP, plain)?;
        let transport_tls = doors("transport.tls.listen", &transport::TLS, secure)?;
        let of_overlay = text.overlay.as_ref().map(OverlayText::addresses);
        let (plain, secure) = of_overlay.unwrap_or_default();
        let http = std::slice::from_ref(&overlay::HTTP);
        let overlay = doors("overlay.listen", http, plain)?.pop();
        let tls = std::slice::from_ref(&overlay::TLS);
        let overlay_tls = doors("overlay.tls.listen", tls, secure)?.pop();
        let crowd = demo_text.and_then(|demo| demo.crowd.as_ref());
        let origin = crowd.map(|crowd| door(ORIGIN.name, "demo.crowd.origin", crowd.origin));
        Ok(Self {
            admin,
            gateway,
            gateway_tls,
            edge,
            edge_tls,
            transport,
            transport_tls,
            overlay,
            overlay_tls,
            demo,
            origin: origin.transpose()?,
            asked,
        })
    }

    /// A copy of each open socket, by the name of its door.
    pub(crate) fn sockets(&self) -> io::Result<Vec<Socket>> {
        let open = self
            .all()
            .filter_map(|door| Some((door.name(), self.asked.get(door.name())?, door.socket()?)));
        open.map(|(name, asked, socket)| {
            Ok(Socket {
                name,
                asked: *asked,
                fd: socket?.into(),
            })
        })
        .collect()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Door>> {
        let gateway = self.gateway.iter().chain(&self.gateway_tls);
        let others = [
            Some(&self.admin),
            self.overlay.as_ref(),
            self.overlay_tls.as_ref(),
            self.demo.as_ref(),
            self.origin.as_ref(),
        ];
        let edge = self.edge.iter().chain(&self.edge_tls);
        let transport = self.transport.iter().chain(&self.transport_tls);
        let services = gateway.chain(edge).chain(transport);
        services.chain(others.into_iter().flatten())
    }

    /// Where each door listens.
    pub(crate) fn addresses(&self) -> BTreeMap<&'static str, SocketAddr> {
        self.all()
            .map(|door| (door.name(), door.address()))
            .collect()
    }
}

/// Sockets handed over by systemd: those with the name of a door are that door's, others are taken in the order
/// admin, demo. A socket without `FileDescriptorName=` has the name of its unit.
///
/// Those of a predecessor are taken where the config asks for the same address as it did then. What it asks for no more
/// is closed here, and by the predecessor when it drains.
struct Inherited {
    listeners: Vec<Heirloom>,
}

struct Heirloom {
    name: Option<String>,
    /// Where a predecessor was asked to listen for it.
    asked: Option<SocketAddr>,
    listener: TcpListener,
}

impl Inherited {
    fn from_environment() -> Self {
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let names: Vec<&str> = names.split(':').collect();
        let asked = std::env::var(ASKED).unwrap_or_default();
        let asked: Vec<Option<SocketAddr>> = asked.split(' ').map(|one| one.parse().ok()).collect();
        let mut fds = ListenFd::from_env();
        // By their whole names: `edge.socket` is what a unit is called, and no door.
        let services = [
            &gateway::HTTP,
            &gateway::TLS,
            &edge::HTTP,
            &edge::TLS,
            &transport::TCP,
            &transport::TLS,
        ];
        let ours = |name: &str| {
            let of_service = services
                .iter()
                .any(|doors| doors.iter().any(|door| door.name == name));
            let single = [&ORIGIN, &overlay::HTTP, &overlay::TLS];
            let of_one = single.iter().any(|door| door.name == name);
            matches!(name, "admin" | "demo") || of_one || of_service
        };
        let named = |index: usize| names.get(index).filter(|name| ours(name));
        let listeners = (0..fds.len())
            .filter_map(|index| {
                let listener = fds.take_tcp_listener(index).ok().flatten()?;
                Some(Heirloom {
                    name: named(index).map(|name| (*name).to_owned()),
                    asked: asked.get(index).copied().flatten(),
                    listener,
                })
            })
            .collect();
        Self { listeners }
    }

    fn take(&mut self, door: &str, wanted: SocketAddr) -> Option<TcpListener> {
        let index = self.find(door, wanted)?;
        Some(self.listeners.remove(index).listener)
    }

    fn find(&self, door: &str, wanted: SocketAddr) -> Option<usize> {
        let first = |fits: &dyn Fn(&Heirloom) -> bool| self.listeners.iter().position(fits);
        let own = |one: &Heirloom| one.name.as_deref() == Some(door);
        let same = |one: &Heirloom| one.asked.is_none_or(|asked| asked == wanted);
        let named = first(&|one| own(one) && same(one));
        // An address may have changed its place in a list. Port zero is no address that two could mean.
        let moved = || first(&|one| one.asked == Some(wanted) && wanted.port() != 0);
        let nameless = || first(&|one| one.name.is_none() && one.asked.is_none());
        named.or_else(moved).or_else(nameless)
    }
}

#[cfg(test)]
mod tests;
