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
pub(crate) use simulated::{bound, copied, of_system, outlive, waiting};

#[cfg(not(feature = "simulation"))]
pub use system::socket_of;
#[cfg(not(feature = "simulation"))]
pub(crate) use system::{bound, copied, of_system, outlive, waiting};
#[cfg(not(feature = "simulation"))]
pub use {std::net::TcpListener as Bound, tokio::net::TcpListener, tokio::net::TcpStream};

pub use direct::{poll_read, poll_write, poll_write_vectored};

mod direct;

/// Has the system find out when the peer of a connection is gone without a word, which may be silent for long.
pub fn outlive_peer(stream: &TcpStream) -> std::io::Result<()> {
    match socket_of(stream) {
        Some(socket) => socket2::SockRef::from(socket).set_tcp_keepalive(&system::questions()),
        None => Ok(()),
    }
}

/// Has the system end a connection whose peer has not taken anything of what was sent to it for so long.
pub fn give_up_after(stream: &TcpStream, patience: std::time::Duration) -> std::io::Result<()> {
    match socket_of(stream) {
        Some(socket) => socket2::SockRef::from(socket).set_tcp_user_timeout(Some(patience)),
        None => Ok(()),
    }
}

/// Whether the peer of a connection has closed its side or is gone, also while there is something left to read.
pub fn has_hung_up(stream: &TcpStream) -> bool {
    socket_of(stream).is_some_and(system::has_hung_up)
}

/// Has the peer of a connection see that it was broken off when it is dropped, not that it ended.
pub fn break_off(stream: &TcpStream) -> std::io::Result<()> {
    match socket_of(stream) {
        Some(socket) => socket2::SockRef::from(socket).set_linger(Some(std::time::Duration::ZERO)),
        None => Ok(()),
    }
}

mod system {
    use std::io;
    use std::net::{SocketAddr, TcpListener};
    use std::os::fd::AsRawFd;

    use socket2::{SockRef, TcpKeepalive};
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

    /// What a silent peer is asked, and when.
    pub(super) fn questions() -> TcpKeepalive {
        TcpKeepalive::new()
            .with_time(limits::PEER_SILENCE)
            .with_interval(limits::PEER_QUESTIONS)
            .with_retries(limits::PEER_CHANCES)
    }

    /// Has the system find out when peers are gone without a word; what is accepted inherits it.
    pub(crate) fn outlive(listener: &TcpListener) -> io::Result<()> {
        SockRef::from(listener).set_tcp_keepalive(&questions())
    }

    /// The system is asked: the runtime tells no more of a socket that has something to read.
    pub(super) fn has_hung_up(stream: &TcpStream) -> bool {
        let mut asked = libc::pollfd {
            fd: stream.as_raw_fd(),
            events: libc::POLLRDHUP,
            revents: 0,
        };
        // SAFETY: one entry, which outlives the call; it does not wait.
        let answered = unsafe { libc::poll(&mut asked, 1, 0) };
        let ended = libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;
        answered > 0 && asked.revents & ended != 0
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
