//! The edge's bounds, as they are written.

use kernel::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Requests at once on one HTTP/2 connection.
    #[schemars(range(min = 1, max = 10_000))]
    pub streams: u32,
    /// Requests at once, until the last byte of their answers.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub inflight: u32,
    /// Requests a second in all; 0 means any number.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub rps: u32,
    /// Bytes of a request body.
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64))]
    pub body_bytes: u64,
    /// Bytes of memory the process may have; requests are turned away when it has nine tenths of them. 0 means what its
    /// control group allows.
    #[schemars(range(min = 0, max = 1_125_899_906_842_624_u64))]
    pub memory_bytes: u64,
    /// Bytes of a tile, as stored and when decoded.
    #[schemars(range(min = 1024, max = 1_073_741_824_u64))]
    pub tile_bytes: usize,
}

impl Default for LimitsText {
    fn default() -> Self {
        Self {
            connections: 16_384,
            accepts_per_ip: 0,
            streams: 100,
            inflight: 512,
            rps: 500,
            body_bytes: 1024 * 1024,
            memory_bytes: 0,
            tile_bytes: 10 * 1024 * 1024,
        }
    }
}

/// How long peers and disks may take, in milliseconds.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutsText {
    /// A whole request head, from the first byte.
    #[schemars(range(min = 10, max = 600_000))]
    pub head_ms: u64,
    /// Between two pieces of a request body; while it is waited for, it also has to bring 240 bytes for each second of
    /// this time.
    #[schemars(range(min = 10, max = 600_000))]
    pub body_ms: u64,
    /// Between two pieces of an answer that the client takes; while it is waited for, it also has to take 240 bytes for
    /// each second of this time.
    #[schemars(range(min = 10, max = 600_000))]
    pub write_ms: u64,
    /// A connection without a request.
    #[schemars(range(min = 10, max = 86_400_000))]
    pub idle_ms: u64,
    /// A TLS handshake, with what comes before it.
    #[schemars(range(min = 10, max = 600_000))]
    pub handshake_ms: u64,
    /// Until the answer begins, however slow the disk is.
    #[schemars(range(min = 1, max = 600_000))]
    pub request_ms: u64,
}

impl Default for TimeoutsText {
    fn default() -> Self {
        let ms = |time: std::time::Duration| time.as_millis() as u64;
        Self {
            head_ms: ms(limits::HEAD_TIMEOUT),
            body_ms: 5_000,
            write_ms: ms(limits::WRITE_TIMEOUT),
            idle_ms: ms(limits::IDLE_TIMEOUT),
            handshake_ms: 2_000,
            request_ms: 5_000,
        }
    }
}
