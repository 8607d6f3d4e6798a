//! The `[transport]` section as it is written, and what in it contradicts itself.

use std::net::SocketAddr;
use std::time::Duration;

pub use front_door::text::TlsText;
use kernel::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::Report;

use crate::service::Opcode;

mod check;

/// The transport: OAP/1, requests and answers in frames.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct TransportText {
    /// Where it listens for plain connections.
    #[schemars(
        length(max = 4),
        extend("x-reload" = "restart", "x-allowed" = "a list of IP:PORT, such as [\"0.0.0.0:8650\"]")
    )]
    pub listen: Vec<SocketAddr>,
    /// The TLS doors; absent: plain connections only.
    pub tls: Option<TlsText>,
    /// Whether HTTP requests in frames reach the routes of the gateway.
    #[schemars(extend("x-reload" = "restart"))]
    pub bridge: bool,
    /// Supervised workers; one that dies loses nothing that may be repeated.
    #[schemars(range(min = 1, max = 64), extend("x-reload" = "restart"))]
    pub workers: usize,
    /// Requests each worker has at once.
    #[schemars(range(min = 1, max = 64), extend("x-reload" = "restart"))]
    pub units_per_worker: usize,
    /// How much of anything there may be at once.
    pub limits: LimitsText,
    /// How long peers may take.
    pub timeouts: TimeoutsText,
    /// Other limits of opcodes than their services declare.
    #[schemars(length(max = 10_000))]
    pub gates: Vec<GateText>,
}

impl Default for TransportText {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 8650))],
            tls: None,
            bridge: false,
            workers: 16,
            units_per_worker: 64,
            limits: LimitsText::default(),
            timeouts: TimeoutsText::default(),
            gates: Vec::new(),
        }
    }
}

/// How much of anything there may be at once.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsText {
    /// Connections of a door; more wait in the backlog.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-reload" = "restart"))]
    pub connections: usize,
    /// Connections one address may open per second (IPv6: one /64); 0 means any number.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub accepts_per_ip: u32,
    /// Requests at once on one connection.
    #[schemars(range(min = 1, max = 1_024))]
    pub inflight: u32,
    /// Bytes of a frame, header included.
    #[schemars(range(min = 8_192, max = 1_048_576))]
    pub frame_bytes: u32,
    /// Bytes of each stream of a request that are taken before any were used up.
    #[schemars(range(min = 65_536, max = 16_777_216))]
    pub window_bytes: u32,
    /// Bytes of whole requests that one connection has under way before no more is read from it.
    #[schemars(range(min = 65_536, max = 1_073_741_824))]
    pub held_bytes: usize,
    /// TLS handshakes of a door at once; more wait, as long as a handshake may take.
    #[schemars(range(min = 1, max = 100_000), extend("x-reload" = "restart"))]
    pub handshakes: usize,
}

impl Default for LimitsText {
    fn default() -> Self {
        Self {
            connections: 10_000,
            accepts_per_ip: 0,
            inflight: oap::limits::INFLIGHT,
            frame_bytes: oap::limits::FRAME_BYTES_MAX,
            window_bytes: oap::limits::WINDOW_BYTES_MIN,
            held_bytes: 4 * 1024 * 1024,
            handshakes: 256,
        }
    }
}

/// How long peers may take, in milliseconds.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutsText {
    /// A TLS handshake; and after it, or without it, a whole HELLO.
    #[schemars(range(min = 10, max = 600_000))]
    pub handshake_ms: u64,
    /// A whole frame, from its first byte.
    #[schemars(range(min = 10, max = 600_000))]
    pub read_ms: u64,
    /// Between two pieces of what the client takes, of a connection or of one stream; and between two of a stream that
    /// it sends.
    #[schemars(range(min = 10, max = 600_000))]
    pub write_ms: u64,
    /// A connection on which nothing happens.
    #[schemars(range(min = 10, max = 86_400_000))]
    pub idle_ms: u64,
}

impl Default for TimeoutsText {
    fn default() -> Self {
        let ms = |time: Duration| time.as_millis() as u64;
        Self {
            handshake_ms: 2_000,
            read_ms: ms(limits::HEAD_TIMEOUT),
            write_ms: ms(limits::WRITE_TIMEOUT),
            idle_ms: ms(limits::IDLE_TIMEOUT),
        }
    }
}

/// Other limits of an opcode than its service declares.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct GateText {
    /// The service: 1 is the HTTP bridge, 2 the echo.
    #[schemars(range(min = 1, max = 65_535))]
    pub app_proto: u16,
    /// What it is asked for.
    #[schemars(range(min = 1, max = 65_535))]
    pub opcode: u16,
    /// Requests at once, over all connections; absent: as declared.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub inflight: Option<u32>,
    /// Requests that may wait for one of those places; absent: as declared.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub waiting: Option<u32>,
    /// How long an answer may take to begin, in milliseconds, unless the client says less; absent: as declared.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3_600_000))]
    pub deadline_ms: Option<u64>,
}

impl GateText {
    /// An opcode with what this says of it.
    pub(crate) fn over(&self, declared: Opcode) -> Opcode {
        let deadline = self.deadline_ms.map(Duration::from_millis);
        Opcode {
            inflight: self.inflight.unwrap_or(declared.inflight),
            waiting: self.waiting.unwrap_or(declared.waiting),
            deadline: deadline.unwrap_or(declared.deadline),
            ..declared
        }
    }
}

impl TransportText {
    /// Says everything that contradicts, in a node that has a gateway or not, with these opcodes of these services.
    pub fn contradictions(
        &self,
        has_gateway: bool,
        opcodes: &[(u16, &'static [Opcode])],
        report: &mut Report,
    ) {
        check::check(self, has_gateway, opcodes, report);
    }

    /// Where it listens for plain and for TLS connections.
    pub fn addresses(&self) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        let secure = self.tls.as_ref().map(|tls| tls.listen.clone());
        (self.listen.clone(), secure.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
