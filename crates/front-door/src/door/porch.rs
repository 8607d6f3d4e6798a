//! What stands before every protocol, for doors that speak another one than HTTP: how often an address may come, and
//! TLS.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use kernel::clock::Timeline;
use kernel::metrics::Counter;
use kernel::serve::{Door, IO_TIMEOUTS};
use kernel::tree::Context;
use rate_quota::{Quota, Rate};
use rustls::server::Acceptor;
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::{ADDRESSES, CUT, TlsDesk, source};
use crate::tls::{Tls, TlsFacts};

/// The porch of one door, shared by all who come.
pub struct Porch {
    tls: TlsDesk,
    cut: Counter,
    late: Counter,
    timeline: Timeline,
    quota: ArcSwapOption<Quota>,
}

impl Porch {
    /// For a door that does so many TLS handshakes at once.
    pub fn new(context: &Context, door: &Door, handshakes_at_once: usize) -> Self {
        let registry = &context.kernel.registry;
        Self {
            tls: TlsDesk::new(registry, door.name(), handshakes_at_once),
            cut: registry.counter(&CUT, &[door.name(), "rate"]),
            late: registry.counter(&IO_TIMEOUTS, &["handshake"]),
            timeline: context.kernel.timeline,
            quota: ArcSwapOption::empty(),
        }
    }

    /// Whether this address (IPv6: its /64) may open one more connection.
    pub fn may_come(&self, address: IpAddr, rate: Option<Rate>) -> bool {
        let Some(rate) = rate else { return true };
        let mut quota = self.quota.load_full();
        if quota.as_ref().is_none_or(|quota| quota.rate() != rate) {
            quota = Some(Arc::new(Quota::new(rate, ADDRESSES)));
            self.quota.store(quota.clone());
        }
        let now = self.timeline.now();
        let allowed = quota.is_none_or(|quota| quota.check(source(address), 1, now).is_ok());
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
