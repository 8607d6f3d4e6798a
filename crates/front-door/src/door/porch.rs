//! What stands before every protocol, for doors that speak another one than HTTP: how often an address may come, and
//! TLS.

use std::net::IpAddr;
use std::time::Duration;

use kernel::metrics::Counter;
use kernel::net::TcpStream;
use kernel::serve::{Door, IO_TIMEOUTS};
use kernel::tree::Context;
use rate_quota::Rate;

use super::comings::Comings;
use super::{CUT, TlsDesk};
use crate::tls::{self, Session, Tls, TlsFacts};

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
    ) -> Option<(Box<Session<TcpStream>>, TlsFacts)> {
        let shaken = tls::shake_hands(stream, tls, &self.tls.turns);
        let Ok(shaken) = tokio::time::timeout(patience, shaken).await else {
            self.late.inc();
            return None;
        };
        match &shaken {
            Ok((_, facts)) => self.tls.agreed(facts),
            Err(error) => {
                self.tls.failed(error);
                tracing::debug!(%error, "no TLS");
            }
        }
        shaken.ok()
    }
}
