//! The same types over either network. Only in builds with the `simulation` feature.

use std::cell::RefCell;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::system;

/// A connection of a simulated network.
pub trait Stream: AsyncRead + AsyncWrite + Debug + Send + Unpin {
    /// This end of it.
    fn local_addr(&self) -> SocketAddr;
}

/// A listener of a simulated network; dropping it closes it.
pub trait Listener: Debug + Send + Sync {
    /// Where it listens.
    fn address(&self) -> SocketAddr;

    /// The next connection and where it is from.
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Box<dyn Stream>, SocketAddr)>>;
}

/// A connection being made.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

/// A network in memory.
pub trait Network: Send + Sync {
    /// A listener; port 0 means any.
    fn bind(&self, address: SocketAddr) -> io::Result<Arc<dyn Listener>>;

    /// A connection.
    fn connect(&self, address: SocketAddr) -> Connecting;
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Network>>> = const { RefCell::new(None) };
}

/// Who lives on this thread talks over `network` until this is dropped.
#[must_use]
pub fn install(network: Arc<dyn Network>) -> Installed {
    CURRENT.with_borrow_mut(|current| *current = Some(network));
    Installed(())
}

/// A network that is talked over.
#[derive(Debug)]
pub struct Installed(());

impl Drop for Installed {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| *current = None);
    }
}

/// Whether this thread lives in a simulation.
pub fn is_simulated() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

fn current() -> Option<Arc<dyn Network>> {
    CURRENT.with_borrow(Clone::clone)
}

/// A listener that no runtime knows of yet.
#[derive(Debug)]
pub enum Bound {
    /// Of the system.
    System(std::net::TcpListener),
    /// Of the simulation.
    Simulated(Arc<dyn Listener>),
}

impl From<std::net::TcpListener> for Bound {
    fn from(listener: std::net::TcpListener) -> Self {
        Self::System(listener)
    }
}

impl Bound {
    pub(crate) fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match self {
            Self::System(listener) => listener.set_nonblocking(nonblocking),
            Self::Simulated(_) => Ok(()),
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::System(listener) => listener.local_addr(),
            Self::Simulated(listener) => Ok(listener.address()),
        }
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::System(listener) => listener.try_clone().map(Self::System),
            Self::Simulated(listener) => Ok(Self::Simulated(listener.clone())),
        }
    }
}

/// A listener at `address`.
pub(crate) fn bound(address: SocketAddr) -> io::Result<Bound> {
    match current() {
        Some(network) => network.bind(address).map(Bound::Simulated),
        None => system::bound(address).map(Bound::System),
    }
}

/// Has the system find out when peers are gone without a word, where there is one.
pub(crate) fn outlive(listener: &Bound) -> io::Result<()> {
    match listener {
        Bound::System(listener) => system::outlive(listener),
        Bound::Simulated(_) => Ok(()),
    }
}

/// A connection that waits.
pub(crate) fn waiting(listener: &Bound) -> Option<io::Result<(TcpStream, SocketAddr)>> {
    match listener {
        Bound::System(listener) => {
            let waiting = system::waiting(listener)?;
            Some(waiting.map(|(stream, peer)| (TcpStream::System(stream), peer)))
        }
        Bound::Simulated(listener) => {
            let mut deaf = Context::from_waker(std::task::Waker::noop());
            match listener.poll_accept(&mut deaf) {
                Poll::Pending => None,
                Poll::Ready(accepted) => Some(accepted.map(simulated)),
            }
        }
    }
}

/// Another handle of the same socket, where there is one.
pub(crate) fn copied(listener: &Bound) -> Option<io::Result<std::net::TcpListener>> {
    match listener {
        Bound::System(listener) => system::copied(listener),
        Bound::Simulated(_) => None,
    }
}

/// The socket under a listener, where there is one.
pub(crate) fn of_system(listener: &TcpListener) -> Option<socket2::SockRef<'_>> {
    match listener {
        TcpListener::System(listener) => Some(socket2::SockRef::from(listener)),
        TcpListener::Simulated(_) => None,
    }
}

/// The system's socket under a connection, where there is one.
pub fn socket_of(stream: &TcpStream) -> Option<&tokio::net::TcpStream> {
    match stream {
        TcpStream::System(stream) => Some(stream),
        TcpStream::Simulated(_) => None,
    }
}

fn simulated((stream, peer): (Box<dyn Stream>, SocketAddr)) -> (TcpStream, SocketAddr) {
    (TcpStream::Simulated(stream), peer)
}

/// A listener.
#[derive(Debug)]
pub enum TcpListener {
    /// Of the system.
    System(tokio::net::TcpListener),
    /// Of the simulation.
    Simulated(Arc<dyn Listener>),
}

impl TcpListener {
    pub(crate) fn from_std(bound: Bound) -> io::Result<Self> {
        match bound {
            Bound::System(listener) => {
                tokio::net::TcpListener::from_std(listener).map(Self::System)
            }
            Bound::Simulated(listener) => Ok(Self::Simulated(listener)),
        }
    }

    pub(crate) fn into_std(self) -> io::Result<Bound> {
        match self {
            Self::System(listener) => listener.into_std().map(Bound::System),
            Self::Simulated(listener) => Ok(Bound::Simulated(listener)),
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match self {
            Self::System(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((TcpStream::System(stream), peer))
            }
            Self::Simulated(listener) => {
                let accepted = std::future::poll_fn(|cx| listener.poll_accept(cx));
                accepted.await.map(simulated)
            }
        }
    }
}

/// A connection.
#[derive(Debug)]
pub enum TcpStream {
    /// Of the system.
    System(tokio::net::TcpStream),
    /// Of the simulation.
    Simulated(Box<dyn Stream>),
}

impl From<tokio::net::TcpStream> for TcpStream {
    fn from(stream: tokio::net::TcpStream) -> Self {
        Self::System(stream)
    }
}

impl TcpStream {
    /// A connection to `address`.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        match current() {
            Some(network) => network.connect(address).await.map(Self::Simulated),
            None => tokio::net::TcpStream::connect(address)
                .await
                .map(Self::System),
        }
    }

    /// This end of it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::System(stream) => stream.local_addr(),
            Self::Simulated(stream) => Ok(stream.local_addr()),
        }
    }

    /// As of a socket.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        match self {
            Self::System(stream) => stream.set_nodelay(nodelay),
            Self::Simulated(_) => Ok(()),
        }
    }
}

macro_rules! either {
    ($this:expr, $stream:ident => $done:expr) => {
        match $this {
            TcpStream::System($stream) => $done,
            TcpStream::Simulated($stream) => $done,
        }
    };
}

impl AsyncRead for TcpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        either!(self, stream => stream.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_shutdown(cx))
    }
}
