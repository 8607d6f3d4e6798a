//! A listening socket, from its opening to the last connection in its backlog.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::lock::{self, Lock};
use crate::net::{self, Bound, TcpListener};

/// A bound listener that outlives the child that accepts from it, so that a restart loses no connection.
#[derive(Debug)]
pub struct Door {
    name: &'static str,
    address: SocketAddr,
    listener: Lock<Option<Bound>>,
}

impl Door {
    /// Takes over a listener, bound or inherited.
    pub fn new(name: &'static str, listener: impl Into<Bound>) -> io::Result<Arc<Self>> {
        let listener = listener.into();
        listener.set_nonblocking(true)?;
        net::outlive(&listener)?;
        let address = listener.local_addr()?;
        Ok(Arc::new(Self {
            name,
            address,
            listener: Lock::new(&lock::DOOR, Some(listener)),
        }))
    }

    /// Binds `address`.
    pub fn bind(name: &'static str, address: SocketAddr) -> io::Result<Arc<Self>> {
        Self::new(name, net::bound(address)?)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The door's name in metrics and logs.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn listener(&self) -> io::Result<TcpListener> {
        match &*self.listener.lock() {
            Some(listener) => TcpListener::from_std(listener.try_clone()?),
            None => Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "the door is closed",
            )),
        }
    }

    /// A copy of the socket, for a process that is to listen on it too; `None` once it is closed.
    pub fn socket(&self) -> Option<io::Result<std::net::TcpListener>> {
        self.listener.lock().as_ref().and_then(net::copied)
    }

    pub(super) fn close(&self) {
        self.listener.lock().take();
    }
}
