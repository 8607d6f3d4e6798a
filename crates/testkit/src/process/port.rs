//! Ports that nobody else is given while a test means to use them.

use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

/// A loopback port kept for one test.
///
/// The reservation is a bound socket that does not listen. The system gives such a port to no one
/// who asks for any port, yet lets a server bind it by number with `SO_REUSEADDR`, as servers do:
/// it may be held while the server runs, and over its restarts.
#[derive(Debug)]
pub struct Port {
    addr: SocketAddr,
    _reservation: Socket,
}

impl Port {
    /// Reserves a free port.
    pub fn reserve() -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        let addr = socket.local_addr()?.as_socket();
        let addr = addr.ok_or_else(|| io::Error::other("a bound socket without an address"))?;
        Ok(Self {
            addr,
            _reservation: socket,
        })
    }

    /// Its address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}
