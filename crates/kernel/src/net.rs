//! Where connections come from: the system's network. In a build for simulations, also one that lives in memory.
//!
//! Everything of the node that listens or dials takes its types from here. Without the `simulation` feature they are
//! tokio's own, so the seam costs nothing.

#[cfg(feature = "simulation")]
mod simulated;
#[cfg(feature = "simulation")]
pub use simulated::{
    Bound, Connecting, Installed, Listener, Network, Stream, TcpListener, TcpStream, install,
    is_simulated, socket_of,
};
#[cfg(feature = "simulation")]
pub(crate) use simulated::{bound, copied, of_system, waiting};

#[cfg(not(feature = "simulation"))]
pub use system::socket_of;
#[cfg(not(feature = "simulation"))]
pub(crate) use system::{bound, copied, of_system, waiting};
#[cfg(not(feature = "simulation"))]
pub use {std::net::TcpListener as Bound, tokio::net::TcpListener, tokio::net::TcpStream};

mod system {
    use std::io;
    use std::net::{SocketAddr, TcpListener};

    use tokio::net::TcpStream;

    use crate::limits;

    /// A listener at `address`, with the longest backlog there may be.
    pub(crate) fn bound(address: SocketAddr) -> io::Result<TcpListener> {
        let domain = socket2::Domain::for_address(address);
        let socket =
            socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(limits::BACKLOG as i32)?;
        Ok(socket.into())
    }

    /// A connection that waits. The system is asked, not the runtime: that one pauses after some, and hears of them
    /// late.
    pub(crate) fn waiting(listener: &TcpListener) -> Option<io::Result<(TcpStream, SocketAddr)>> {
        match listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            accepted => Some(accepted.and_then(|(stream, peer)| {
                stream.set_nonblocking(true)?;
                Ok((TcpStream::from_std(stream)?, peer))
            })),
        }
    }

    /// Another handle of the same socket.
    pub(crate) fn copied(listener: &TcpListener) -> Option<io::Result<TcpListener>> {
        Some(listener.try_clone())
    }

    /// The socket under a listener.
    #[cfg(not(feature = "simulation"))]
    pub(crate) fn of_system(listener: &tokio::net::TcpListener) -> Option<socket2::SockRef<'_>> {
        Some(socket2::SockRef::from(listener))
    }

    /// The system's socket under a connection.
    #[cfg(not(feature = "simulation"))]
    pub fn socket_of(stream: &TcpStream) -> Option<&TcpStream> {
        Some(stream)
    }
}
