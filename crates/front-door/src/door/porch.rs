//! What stands before every protocol, for doors that speak another one than HTTP: how often an address may come, and
//! TLS.

use std::net::IpAddr;
use std::time::Duration;

use kernel::metrics::Counter;
use kernel::net::TcpStream;
use kernel::serve::{Door, IO_TIMEOUTS};
use kernel::tree::Context;
use rate_quota::Rate;
use rustls::server::Acceptor;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::comings::Comings;
use super::{CUT, TlsDesk};
use crate::tls::{Tls, TlsFacts};

/// The porch of one door, shared by all who come.
pub struct Porch {
    tls: TlsDesk,
    cut: Counter,
    late: Counter,
    comings: Comings,
}

impl Porch {
    /// For a door that does so many TLS handshakes at once.
    pub fn new(context: &Context, door: &Door, handshakes_at_once: usize) -> Self {
        let registry = &context.kernel.registry;
        Self {
            tls: TlsDesk::new(registry, door.name(), handshakes_at_once),
            cut: registry.counter(&CUT, &[door.name(), "rate"]),
            late: registry.counter(&IO_TIMEOUTS, &["handshake"]),
            comings: Comings::new(context.kernel.timeline),
        }
    }

    /// Whether this address (IPv6: its /64) may open one more connection.
    pub fn may_come(&self, address: IpAddr, rate: Option<Rate>) -> bool {
        let allowed = self.comings.may_come(address, rate);
        if !allowed {
            self.cut.inc();
        }
        allowed
    }

    /// A TLS session with whoever is there, if there is one in time. What went wrong is counted.
    pub async fn shake_hands(
        &self,
        stream: TcpStream,
        tls: &Tls,
        patience: Duration,
    ) -> Option<(Box<TlsStream<TcpStream>>, TlsFacts)> {
        match tokio::time::timeout(patience, self.agree(stream, tls)).await {
            Ok(agreed) => agreed,
            Err(_) => {
                self.late.inc();
                None
            }
        }
    }

    async fn agree(
        &self,
        stream: TcpStream,
        tls: &Tls,
    ) -> Option<(Box<TlsStream<TcpStream>>, TlsFacts)> {
        let failed = |error: std::io::Error| {
            self.tls.failed(&error);
            tracing::debug!(%error, "no TLS");
        };
        // Only who has said something takes part in the work; who only holds a connection open does not.
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await;
        let hello = hello.map_err(failed).ok()?;
        let _turn = self.tls.turns.acquire().await.ok()?;
        let config = tls.config_for(&hello.client_hello());
        let accepted = hello.into_stream(config).await;
        let stream = accepted.map_err(failed).ok()?;
        let facts = TlsFacts::new(stream.get_ref().1);
        self.tls.agreed(&facts);
        Some((Box::new(stream), facts))
    }
}
