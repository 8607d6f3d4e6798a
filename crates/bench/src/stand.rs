//! What servers are measured at: an origin behind them, a core for them alone, the load on the next one.

use std::net::SocketAddr;

use testkit::process::{Port, Process};

use crate::cores::{self, Rank};
use crate::load::wire::ask;
use crate::origin::{self, Settings};
use crate::peers::{Door, OTHER_CORE, Place};

/// An origin of its own, ended with it.
#[derive(Debug)]
pub(crate) struct Stand {
    port: Port,
    _origin: Process,
    more: usize,
}

impl Stand {
    /// Goes before other work on this machine from now on.
    pub(crate) fn new() -> Result<Self, String> {
        Self::at_many(0)
    }

    /// With so many more addresses of the origin.
    pub(crate) fn at_many(more: usize) -> Result<Self, String> {
        cores::go_first(Rank::Load);
        cores::pin(OTHER_CORE);
        let port = reserve()?;
        let _origin = origin::start_at_many(&port, OTHER_CORE, more)?;
        Ok(Self {
            port,
            _origin,
            more,
        })
    }

    pub(crate) fn origin(&self) -> SocketAddr {
        self.port.addr()
    }

    /// All addresses of the origin.
    pub(crate) fn origins(&self) -> Vec<SocketAddr> {
        let settings = Settings {
            listen: self.origin(),
            places: 0,
            service: std::time::Duration::ZERO,
            core: None,
            more_addresses: self.more,
        };
        settings.addresses()
    }

    /// Between clients and the origin.
    pub(crate) fn place(&self, listen: SocketAddr, door: Door) -> Place {
        Place {
            listen,
            origin: self.origin(),
            door,
            access_log: false,
        }
    }

    /// Makes the origin one that never lets anybody wait for others.
    pub(crate) fn widen(&self) -> Result<(), String> {
        match ask(self.origin(), "/control?places=100000") {
            Ok((200, _)) => Ok(()),
            other => Err(format!("the origin was not changed: {other:?}")),
        }
    }

    /// How often the origin has answered with bytes.
    pub(crate) fn bytes_asked(&self) -> Result<u64, String> {
        self.stat("bytes")
    }

    /// How much work the origin has done.
    pub(crate) fn work_done(&self) -> Result<u64, String> {
        self.stat("done")
    }

    fn stat(&self, name: &str) -> Result<u64, String> {
        let (_, body) = ask(self.origin(), "/stats").map_err(|error| error.to_string())?;
        let stats: serde_json::Value =
            serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        let number = stats[name].as_u64();
        number.ok_or_else(|| format!("the origin does not say how many: {name}"))
    }
}

/// A port nobody else has.
pub(crate) fn reserve() -> Result<Port, String> {
    Port::reserve().map_err(|error| format!("no port is free: {error}"))
}
