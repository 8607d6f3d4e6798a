//! What an operator may say about a door.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use kernel::limits;
use rate_quota::Rate;

use crate::text::TlsText;
use crate::tls::Tls;

/// The bounds of a door. Read for each new connection, so that a change reaches the next one; what is marked so
/// is read when the door opens.
#[derive(Clone, Debug)]
pub struct DoorSettings {
    /// Connections at once; more wait in the backlog. Read when the door opens.
    pub max_connections: usize,
    /// Connections from one address (IPv6: one /64) in a time; more are closed unheard.
    pub accept_rate: Option<Rate>,
    /// HTTP/2 streams at once on one connection.
    pub streams_per_connection: u32,
    /// How long peers may take.
    pub timeouts: Timeouts,
    /// Bytes of an HTTP/1 request head. Taken as at least 8 KiB.
    pub head_bytes: usize,
    /// Bytes of an HTTP/2 header list.
    pub header_list_bytes: u32,
    /// Bytes a request body has to bring in each second, on average over [`Timeouts::body`], and a peer has to take of
    /// an answer, over [`Timeouts::write`]. The config reference names the number.
    pub body_bytes_per_second: u32,
    /// Certificates, if the door speaks TLS.
    pub tls: Option<Arc<Tls>>,
    /// TLS handshakes at once; more wait, as long as a handshake may take. Read when the door opens.
    pub handshakes_at_once: usize,
    /// Who may say whom they speak for.
    pub proxy_protocol: ProxyProtocol,
}

impl Default for DoorSettings {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            accept_rate: None,
            streams_per_connection: 100,
            timeouts: Timeouts::default(),
            head_bytes: limits::HEAD_BYTES,
            header_list_bytes: 16 * 1024,
            body_bytes_per_second: 240,
            tls: None,
            handshakes_at_once: 256,
            proxy_protocol: ProxyProtocol::Off,
        }
    }
}

impl DoorSettings {
    /// Lets one address open so many connections a second; 0 is as many as it likes.
    pub fn with_accepts_per_ip(self, per_second: u32) -> Result<Self, String> {
        let accept_rate = match per_second {
            0 => None,
            rate => {
                Some(Rate::new(rate, Duration::from_secs(1)).map_err(|error| error.to_string())?)
            }
        };
        Ok(Self {
            accept_rate,
            ..self
        })
    }

    /// Who may vouch for clients, as a number that is another for others.
    pub(crate) fn vouchers(&self) -> u64 {
        self.tls.as_ref().map_or(0, |tls| tls.vouchers)
    }

    /// A plain door and one of the same bounds with these certificates, read anew.
    pub fn plain_and_secure(self, tls: Option<&TlsText>) -> Result<(Self, Self), String> {
        let mut secure = self.clone();
        if let Some(text) = tls {
            let loaded = text.load().map_err(|error| error.to_string())?;
            secure.tls = Some(Arc::new(loaded));
        }
        Ok((self, secure))
    }
}

/// How long a peer may take. Kept to within a fifth of a second, never early.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the PROXY header and the TLS handshake together.
    pub handshake: Duration,
    /// For the first byte, and for a whole request head.
    pub head: Duration,
    /// Between two pieces of a request body.
    pub body: Duration,
    /// Between two pieces of an answer.
    pub write: Duration,
    /// Between requests.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(2),
            head: limits::HEAD_TIMEOUT,
            body: Duration::from_secs(5),
            write: limits::WRITE_TIMEOUT,
            idle: limits::IDLE_TIMEOUT,
        }
    }
}

/// Whether the PROXY protocol is spoken, and by whom.
#[derive(Clone, Debug, Default)]
pub enum ProxyProtocol {
    /// By nobody; a PROXY header is no HTTP.
    #[default]
    Off,
    /// By these, always, in version 1 or 2; by nobody else.
    Accept {
        /// The proxies.
        trusted: Vec<IpNet>,
    },
}

impl ProxyProtocol {
    /// Whether whoever is at this address speaks for others.
    pub(crate) fn trusts(&self, hop: IpAddr) -> bool {
        match self {
            ProxyProtocol::Off => false,
            ProxyProtocol::Accept { trusted } => {
                let hop = hop.to_canonical();
                trusted.iter().any(|net| net.contains(&hop))
            }
        }
    }
}
