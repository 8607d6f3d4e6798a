//! How a connection is made.

use std::future::Future;
use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection being made.
pub type Dialing<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send + 'a>>;

/// Makes connections to one server.
pub trait Dial: Send + Sync {
    /// One more; the caller puts a limit to its time.
    fn dial(&self) -> Dialing<'_>;
}

/// Over plain TCP, to `host:port`.
#[derive(Clone, Debug)]
pub struct Tcp(pub String);

impl Dial for Tcp {
    fn dial(&self) -> Dialing<'_> {
        Box::pin(async move { Ok(Box::new(connected(&self.0).await?) as Box<dyn Stream>) })
    }
}

async fn connected(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    // Frames are written in batches already; waiting for more only adds to the latency.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Over TLS, to `host:port`.
#[cfg(feature = "tls")]
#[derive(Clone)]
pub struct Tls {
    /// Where to.
    pub address: String,
    /// What the certificate has to be for.
    pub name: tokio_rustls::rustls::pki_types::ServerName<'static>,
    /// Roots, client certificate, and `oap/1` among the ALPN protocols.
    pub config: std::sync::Arc<tokio_rustls::rustls::ClientConfig>,
}

#[cfg(feature = "tls")]
impl Dial for Tls {
    fn dial(&self) -> Dialing<'_> {
        Box::pin(async move {
            let stream = connected(&self.address).await?;
            let connector = tokio_rustls::TlsConnector::from(self.config.clone());
            let stream = connector.connect(self.name.clone(), stream).await?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}

#[cfg(feature = "tls")]
impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
