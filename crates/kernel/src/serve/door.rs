//! A listening socket, from its opening to the last connection in its backlog.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};

use crate::limits;
use crate::lock::{self, Lock};

/// A bound listener that outlives the child that accepts from it, so that a restart loses no connection.
#[derive(Debug)]
pub struct Door {
    name: &'static str,
    address: SocketAddr,
    listener: Lock<Option<StdListener>>,
}

impl Door {
    /// Takes over a listener, bound or inherited.
    pub fn new(name: &'static str, listener: StdListener) -> io::Result<Arc<Self>> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Arc::new(Self {
            name,
            address,
            listener: Lock::new(&lock::DOOR, Some(listener)),
        }))
    }

    /// Binds `address`.
    pub fn bind(name: &'static str, address: SocketAddr) -> io::Result<Arc<Self>> {
        let domain = socket2::Domain::for_address(address);
        let socket =
            socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(limits::BACKLOG as i32)?;
        Self::new(name, socket.into())
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
    pub fn socket(&self) -> Option<io::Result<StdListener>> {
        self.listener.lock().as_ref().map(StdListener::try_clone)
    }

    pub(super) fn close(&self) {
        self.listener.lock().take();
    }
}

/// A connection that waits. The system is asked, not the runtime: that one pauses after some, and hears of them late.
pub(super) fn in_backlog(listener: &StdListener) -> Option<io::Result<(TcpStream, SocketAddr)>> {
    match listener.accept() {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        accepted => Some(accepted.and_then(|(stream, peer)| {
            stream.set_nonblocking(true)?;
            Ok((TcpStream::from_std(stream)?, peer))
        })),
    }
}
