//! The node's listeners: inherited from systemd where given, bound otherwise, before anything starts.

mod inherited;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use kernel::serve::Door;
use kernel::tree::ChildSpec;
use svc_edge::{Edge, tree as edge};
use svc_gateway::Gateway;
use svc_gateway::tree as gateway;
use svc_transport::config::TransportText;
use svc_transport::tree as transport;

use crate::config::NodeText;
use crate::demo::origin::ORIGIN;
use crate::overlay::config::OverlayText;
use crate::overlay::tree as overlay;
use inherited::{Inherited, Stray};

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

/// Why the doors could not be opened.
#[derive(Debug)]
pub(crate) enum Shut {
    /// One cannot be had.
    Door(DoorError),
    /// What was given is none.
    Stray(Stray),
}

impl std::fmt::Display for Shut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Door(error) => error.fmt(f),
            Self::Stray(stray) => stray.fmt(f),
        }
    }
}

/// A door that the config asks for.
struct Place {
    name: &'static str,
    /// The config key with the address.
    key: &'static str,
    address: SocketAddr,
}

impl Doors {
    /// Takes or binds every listener that `text` asks for.
    pub(crate) fn open(text: &NodeText) -> Result<Self, Shut> {
        let admin = Place {
            name: "admin",
            key: "admin.listen",
            address: text.admin.listen,
        };
        let mut places = vec![admin];
        places.extend(others(text));
        let inherited = Inherited::from_environment();
        let mut inherited = inherited.share(&places).map_err(Shut::Stray)?;
        let mut open = |place: &Place| {
            let opened = match inherited.remove(place.name) {
                Some(listener) => Door::new(place.name, listener),
                None => Door::bind(place.name, place.address),
            };
            opened.map_err(|error| {
                Shut::Door(DoorError {
                    key: place.key,
                    address: place.address,
                    error,
                })
            })
        };
        let admin = open(&places[0])?;
        let opened = places[1..]
            .iter()
            .map(|place| Ok((place.name, open(place)?)));
        let mut opened = opened.collect::<Result<BTreeMap<_, _>, Shut>>()?;
        let mut of = |specs: &'static [ChildSpec]| -> Vec<Arc<Door>> {
            let named = specs.iter().filter_map(|spec| opened.remove(spec.name));
            named.collect()
        };
        Ok(Self {
            admin,
            gateway: of(&gateway::HTTP),
            gateway_tls: of(&gateway::TLS),
            edge: of(&edge::HTTP),
            edge_tls: of(&edge::TLS),
            transport: of(&transport::TCP),
            transport_tls: of(&transport::TLS),
            overlay: of(std::slice::from_ref(&overlay::HTTP)).pop(),
            overlay_tls: of(std::slice::from_ref(&overlay::TLS)).pop(),
            origin: of(std::slice::from_ref(&ORIGIN)).pop(),
            demo: opened.remove("demo"),
            asked: places
                .iter()
                .map(|place| (place.name, place.address))
                .collect(),
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

/// All but the admin server's, which is always there.
fn others(text: &NodeText) -> Vec<Place> {
    let mut all = Vec::new();
    let mut add = |key, specs: &'static [ChildSpec], addresses: Vec<SocketAddr>| {
        let named = specs.iter().map(|spec| spec.name).zip(addresses);
        all.extend(named.map(|(name, address)| Place { name, key, address }));
    };
    let of_gateway = text.gateway.as_ref().map(Gateway::addresses);
    let (plain, secure) = of_gateway.unwrap_or_default();
    add("gateway.listen", &gateway::HTTP, plain);
    add("gateway.tls.listen", &gateway::TLS, secure);
    let of_edge = text.edge.as_ref().map(Edge::addresses);
    let (plain, secure) = of_edge.unwrap_or_default();
    add("edge.listen", &edge::HTTP, plain);
    add("edge.tls.listen", &edge::TLS, secure);
    let of_transport = text.transport.as_ref().map(TransportText::addresses);
    let (plain, secure) = of_transport.unwrap_or_default();
    add("transport.listen", &transport::TCP, plain);
    add("transport.tls.listen", &transport::TLS, secure);
    let of_overlay = text.overlay.as_ref().map(OverlayText::addresses);
    let (plain, secure) = of_overlay.unwrap_or_default();
    let http = std::slice::from_ref(&overlay::HTTP);
    add("overlay.listen", http, plain);
    let tls = std::slice::from_ref(&overlay::TLS);
    add("overlay.tls.listen", tls, secure);
    if let Some(demo) = &text.demo {
        let origin = demo.crowd.iter().map(|crowd| crowd.origin).collect();
        let spec = std::slice::from_ref(&ORIGIN);
        add("demo.crowd.origin", spec, origin);
        all.push(Place {
            name: "demo",
            key: "demo.listen",
            address: demo.listen,
        });
    }
    all
}
