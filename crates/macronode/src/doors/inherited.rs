//! Sockets that were open before the node: systemd's by name or address, a predecessor's where it is still asked for.

use std::collections::BTreeMap;
use std::fmt;
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
}

struct Heirloom {
    name: String,
    /// Where a predecessor was asked to listen for it.
    asked: Option<SocketAddr>,
    listener: TcpListener,
}

/// A socket of systemd's that is no door: who connects there would never be heard.
#[derive(Debug)]
pub(crate) struct Stray {
    name: String,
    at: Option<SocketAddr>,
    /// The names there are.
    doors: Vec<&'static str>,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "systemd gave the socket `{}`", self.name)?;
        if let Some(at) = self.at {
            write!(f, " at {at}")?;
        }
        let doors = self.doors.join(", ");
        write!(
            f,
            ": no door has this name or address\n  \
             remedy: give its unit FileDescriptorName= with the name of a door ({doors}), \
             or ListenStream= with its address"
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
        let listeners = (0..fds.len())
            .filter_map(|index| {
                let listener = fds.take_tcp_listener(index).ok().flatten()?;
                Some(Heirloom {
                    name: names.get(index).copied().unwrap_or_default().to_owned(),
                    asked: asked.get(index).copied().flatten(),
                    listener,
                })
            })
            .collect();
        Self { listeners }
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
        let mut left = self.listeners.into_iter();
        match left.find(|one| one.asked.is_none()) {
            None => Ok(shared),
            Some(stray) => Err(Stray {
                at: stray.listener.local_addr().ok(),
                name: stray.name,
                doors: places.iter().map(|place| place.name).collect(),
            }),
        }
    }
}

impl Heirloom {
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
