//! The `[overlay]` section as it is written, and what in it contradicts itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use front_door::text::{ClientCertificates, TlsText};
use kernel::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::{Report, Secret};

/// Bytes of a request body, at most.
pub(crate) const BODY_BYTES: u64 = 4 * 1024 * 1024;
/// A token that can be guessed keeps nobody out.
const TOKEN_BYTES: usize = 16;

/// The overlay: the node's own API, to look at it and to steer it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OverlayText {
    /// Where it listens for plain HTTP/1.1 and HTTP/2 with prior knowledge. Beyond loopback reading needs a token too.
    #[schemars(
        length(max = 1),
        extend("x-reload" = "restart", "x-allowed" = "a list of one IP:PORT, such as [\"127.0.0.1:8660\"]")
    )]
    pub(crate) listen: Vec<SocketAddr>,
    /// Its TLS door; absent: plain HTTP only.
    pub(crate) tls: Option<TlsText>,
    /// Tokens by the name that the log knows them by.
    pub(crate) tokens: BTreeMap<String, TokenText>,
    /// What clients with a certificate may do, by its subject, or a DNS name or URI in it.
    pub(crate) certificates: BTreeMap<String, Role>,
    /// How much of anything there may be at once.
    pub(crate) limits: OverlayLimitsText,
    /// How long peers may take.
    pub(crate) timeouts: OverlayTimeoutsText,
}

impl Default for OverlayText {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 8660))],
            tls: None,
            tokens: BTreeMap::new(),
            certificates: BTreeMap::new(),
            limits: OverlayLimitsText::default(),
            timeouts: OverlayTimeoutsText::default(),
        }
    }
}

/// A token.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenText {
    /// What is sent as `Authorization: Bearer`; at least 16 bytes.
    pub(crate) secret: Secret,
    /// What its holder may do: `read`, or `operate`, which is all.
    #[serde(default)]
    pub(crate) role: Role,
}

/// What somebody may do.
#[derive(
    Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    #[default]
    Read,
    Operate,
}

/// How much of anything there may be at once.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OverlayLimitsText {
    /// Connections of a door; more wait in the backlog.
    #[schemars(range(min = 1, max = 10_000), extend("x-reload" = "restart"))]
    pub(crate) connections: usize,
    /// Connections one address may open per second (IPv6: one /64); 0 means any number.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(crate) accepts_per_ip: u32,
    /// Requests at once on one HTTP/2 connection.
    #[schemars(range(min = 1, max = 1_000))]
    pub(crate) streams: u32,
    /// Bytes of a request body.
    #[schemars(range(min = 1024, max = 4_194_304))]
    pub(crate) body_bytes: u64,
}

const _: () = assert!(BODY_BYTES == 4_194_304);

impl Default for OverlayLimitsText {
    fn default() -> Self {
        Self {
            connections: limits::ADMIN_CONNECTIONS,
            accepts_per_ip: 100,
            streams: 32,
            body_bytes: BODY_BYTES,
        }
    }
}

/// How long peers may take, in milliseconds.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OverlayTimeoutsText {
    /// A whole request head, from the first byte.
    #[schemars(range(min = 10, max = 600_000))]
    pub(crate) head_ms: u64,
    /// Between two pieces of a request body; while it is waited for, it also has to bring 240 bytes for each second of
    /// this time.
    #[schemars(range(min = 10, max = 600_000))]
    pub(crate) body_ms: u64,
    /// Between two pieces of an answer that the client takes; while it is waited for, it also has to take 240 bytes for
    /// each second of this time.
    #[schemars(range(min = 10, max = 600_000))]
    pub(crate) write_ms: u64,
    /// A connection without a request.
    #[schemars(range(min = 10, max = 86_400_000))]
    pub(crate) idle_ms: u64,
    /// A TLS handshake, with what comes before it.
    #[schemars(range(min = 10, max = 600_000))]
    pub(crate) handshake_ms: u64,
}

impl Default for OverlayTimeoutsText {
    fn default() -> Self {
        let ms = |time: std::time::Duration| time.as_millis() as u64;
        Self {
            head_ms: ms(limits::HEAD_TIMEOUT),
            body_ms: 5_000,
            write_ms: ms(limits::WRITE_TIMEOUT),
            idle_ms: ms(limits::IDLE_TIMEOUT),
            handshake_ms: 2_000,
        }
    }
}

impl OverlayText {
    /// Where it listens for plain and for TLS connections, as configured.
    pub(crate) fn addresses(&self) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        let secure = self.tls.as_ref().map(|tls| tls.listen.clone());
        (self.listen.clone(), secure.unwrap_or_default())
    }

    /// Says everything that contradicts.
    pub(crate) fn contradictions(&self, report: &mut Report) {
        self.doors(report);
        self.guards(report);
        if let Some(tls) = &self.tls {
            report.within("tls", |report| {
                if tls.listen.len() > 1 {
                    let what = "the overlay has one TLS door";
                    report.contradiction(&["listen"], what, "name one address");
                }
                for error in tls.faults() {
                    let remedy = "mend the files named";
                    report.contradiction(&["certificates"], error.to_string(), remedy);
                }
            });
        }
    }

    fn doors(&self, report: &mut Report) {
        let (plain, secure) = self.addresses();
        if plain.is_empty() && secure.is_empty() {
            let remedy = "set listen, or an [overlay.tls] section";
            report.contradiction(&["listen"], "the overlay has no door", remedy);
        }
        let open = |doors: &[SocketAddr]| doors.iter().any(|door| !door.ip().is_loopback());
        let remedy = "set a token under overlay.tokens, or listen on 127.0.0.1";
        if open(&plain) && self.tokens.is_empty() {
            let what = "the overlay would be open to the network without a token";
            report.contradiction(&["listen", "tokens"], what, remedy);
        }
        if open(&secure) && self.tokens.is_empty() && !self.knows_certificates() {
            let what =
                "the overlay would be open to the network without token or client certificate";
            report.contradiction(&["tls.listen", "tokens"], what, remedy);
        }
    }

    /// Whether somebody may come in by a certificate.
    fn knows_certificates(&self) -> bool {
        let asked = |tls: &TlsText| tls.client_certificates != ClientCertificates::Off;
        !self.certificates.is_empty() && self.tls.as_ref().is_some_and(asked)
    }

    fn guards(&self, report: &mut Report) {
        for (index, (name, token)) in self.tokens.iter().enumerate() {
            report.within("tokens", |report| {
                let key = format!("{name}.secret");
                if token.secret.expose().len() < TOKEN_BYTES {
                    let what = format!("the token `{name}` is short enough to be guessed");
                    let remedy = "make one of 16 bytes or more: `openssl rand -hex 24`";
                    report.contradiction(&[&key], what, remedy);
                }
                let mut before = self.tokens.iter().take(index);
                if let Some((other, _)) = before.find(|(_, other)| other.secret == token.secret) {
                    let what = format!("`{name}` and `{other}` are the same token");
                    let remedy =
                        "give each holder a token of its own, or the log cannot tell them apart";
                    report.contradiction(&[&key], what, remedy);
                }
            });
        }
        if !self.certificates.is_empty() && !self.knows_certificates() {
            let what = "no client is asked for its certificate";
            let remedy = "set overlay.tls.client_certificates, or remove [overlay.certificates]";
            report.contradiction(&["certificates"], what, remedy);
        }
    }
}

#[cfg(test)]
mod tests;
