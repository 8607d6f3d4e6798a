//! Sockets that were open before the node: systemd's by name or address, a predecessor's where it is still asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};

use listenfd::ListenFd;

use super::Place;
use crate::handover::ASKED;

/// What systemd gives goes to the door of its name, wherever it listens, and what has no such name to the door that is
/// to listen where it does: a socket without `FileDescriptorName=` has the name of its unit.
///
/// What a predecessor leaves goes to the door of its name where the config asks for the same address as it did then, or
/// to the door that asks for it now. What nobody asks for any more is closed here, and by the predecessor when it
/// drains.
pub(super) struct Inherited {
    listeners: Vec<Heirloom>,
    /// What cannot be a door at all.
    others: Vec<Other>,
}

struct Heirloom {
    name: String,
    /// Where a predecessor was asked to listen for it.
    asked: Option<SocketAddr>,
    listener: TcpListener,
}

/// A file that is no TCP socket: one of the file system, for datagrams, or none.
struct Other {
    name: String,
    error: io::Error,
}

/// A socket of systemd's that is no door: who connects there would never be heard.
#[derive(Debug)]
pub(crate) struct Stray {
    name: String,
    /// What it is instead.
    what: String,
    /// The names there are.
    doors: Vec<&'static str>,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, what, doors) = (&self.name, &self.what, self.doors.join(", "));
        write!(
            f,
            "systemd gave the socket `{name}`{what}\n  \
             remedy: give its unit FileDescriptorName= with the name of a door ({doors}), \
             and ListenStream= with an IP address and a port"
        )
    }
}

impl Inherited {
    pub(super) fn from_environment() -> Self {
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let names: Vec<&str> = names.split(':').collect();
        let asked = std::env::var(ASKED).unwrap_or_default();
        let asked: Vec<Option<SocketAddr>> = asked.split(' ').map(|one| one.parse().ok()).collect();
        let mut fds = ListenFd::from_env();
        let (mut listeners, mut others) = (Vec::new(), Vec::new());
        for index in 0..fds.len() {
            let name = names.get(index).copied().unwrap_or_default().to_owned();
            match fds.take_tcp_listener(index) {
                Ok(None) => {}
                Ok(Some(listener)) => listeners.push(Heirloom {
                    name,
                    asked: asked.get(index).copied().flatten(),
                    listener,
                }),
                Err(error) => others.push(Other { name, error }),
            }
        }
        Self { listeners, others }
    }

    /// Gives each door its socket. Names go first, so that no address takes away what was meant for another door.
    pub(super) fn share(
        mut self,
        places: &[Place],
    ) -> Result<BTreeMap<&'static str, TcpListener>, Stray> {
        let mut shared = BTreeMap::new();
        let both =
            |one: &Heirloom, place: &Place| one.is_named_for(place) && one.is_placed_for(place);
        for fits in [both, Heirloom::is_named_for, Heirloom::is_placed_for] {
            for place in places {
                if shared.contains_key(place.name) {
                    continue;
                }
                let found = self.listeners.iter().position(|one| fits(one, place));
                if let Some(index) = found {
                    shared.insert(place.name, self.listeners.remove(index).listener);
                }
            }
        }
        let unasked = self.listeners.iter().find(|one| one.asked.is_none());
        let other = self.others.iter().map(|one| (&one.name, one.what()));
        let stray = other
            .chain(unasked.map(|one| (&one.name, one.what())))
            .next();
        match stray {
            None => Ok(shared),
            Some((name, what)) => Err(Stray {
                name: name.clone(),
                what,
                doors: places.iter().map(|place| place.name).collect(),
            }),
        }
    }
}

impl Other {
    fn what(&self) -> String {
        format!(": it is no TCP socket, and doors are ({})", self.error)
    }
}

impl Heirloom {
    fn what(&self) -> String {
        let at = self.listener.local_addr();
        let at = at.map_or_else(|_| String::new(), |at| format!(" at {at}"));
        format!("{at}: no door has this name or address")
    }

    fn is_named_for(&self, place: &Place) -> bool {
        self.name == place.name && self.asked.is_none_or(|asked| asked == place.address)
    }

    /// An address may have changed its place in a list. Port zero is no address that two could mean.
    fn is_placed_for(&self, place: &Place) -> bool {
        let at = self.asked.or_else(|| self.listener.local_addr().ok());
        at == Some(place.address) && place.address.port() != 0
    }
}

#[cfg(test)]
mod tests;
