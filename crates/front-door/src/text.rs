//! The TLS doors of a service, as they are written in its config.

use std::net::SocketAddr;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tls::{self, CertificateFiles, KeyExchange, Tls, TlsError, TlsFiles};

/// The TLS doors: HTTP/2 and HTTP/1.1 by ALPN.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct TlsText {
    /// Where they listen.
    #[schemars(
        length(min = 1, max = 4),
        extend("x-reload" = "restart", "x-allowed" = "a list of IP:PORT, such as [\"0.0.0.0:8443\"]")
    )]
    pub listen: Vec<SocketAddr>,
    /// Certificates, chosen by the name the client asks for. Files that change are taken over by themselves.
    #[schemars(length(min = 1, max = 1_000))]
    pub certificates: Vec<CertificateText>,
    /// Whether clients may, or must, show a certificate.
    #[serde(default)]
    pub client_certificates: ClientCertificates,
    /// Certificates of those who may sign clients' ones.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    pub client_ca: Option<String>,
    /// Whether key exchange is safe against quantum computers: `prefer` where the client can, `require` always, `off`
    /// never.
    #[serde(default)]
    pub post_quantum: PostQuantum,
}

impl TlsText {
    /// All that is wrong with what it names: with each pair by itself, then with those that are good, together.
    pub fn faults(&self) -> Vec<TlsError> {
        let Err(whole) = self.load() else {
            return Vec::new();
        };
        let unasked = Self {
            certificates: Vec::new(),
            client_certificates: ClientCertificates::Off,
            ..self.clone()
        };
        let (mut good, mut faults) = (Vec::new(), Vec::new());
        for pair in &self.certificates {
            let alone = Self {
                certificates: vec![pair.clone()],
                ..unasked.clone()
            };
            match alone.load() {
                Ok(_) => good.push(pair.clone()),
                Err(error) => faults.push(error),
            }
        }
        let rest = Self {
            certificates: good,
            ..self.clone()
        };
        match (faults.is_empty(), rest.certificates.is_empty()) {
            (true, _) => faults.push(whole),
            (false, true) => {}
            (false, false) => faults.extend(rest.load().err()),
        }
        faults
    }

    /// Loads what it names.
    pub fn load(&self) -> Result<Tls, TlsError> {
        let files = |pair: &CertificateText| CertificateFiles {
            chain: pair.cert.as_str().into(),
            key: pair.key.as_str().into(),
        };
        // The door serves the first one to those who name nobody it knows.
        let (default, others): (Vec<_>, Vec<_>) =
            self.certificates.iter().partition(|pair| pair.default);
        let ca = || self.client_ca.as_deref().unwrap_or_default().into();
        Tls::load(&TlsFiles {
            first_is_default: !default.is_empty(),
            certificates: default.into_iter().chain(others).map(files).collect(),
            clients: match self.client_certificates {
                ClientCertificates::Off => tls::ClientCertificates::Unasked,
                ClientCertificates::Optional => tls::ClientCertificates::Optional(ca()),
                ClientCertificates::Required => tls::ClientCertificates::Required(ca()),
            },
            key_exchange: match self.post_quantum {
                PostQuantum::Prefer => KeyExchange::PreferPostQuantum,
                PostQuantum::Require => KeyExchange::RequirePostQuantum,
                PostQuantum::Off => KeyExchange::Classical,
            },
        })
    }

    /// When each of its files was last written; when they differ, it is time to load them again.
    pub fn stamps(&self) -> Vec<SystemTime> {
        let pairs = self.certificates.iter();
        let files = pairs.flat_map(|pair| [&pair.cert, &pair.key]);
        let stamp = |file: &String| std::fs::metadata(file).and_then(|data| data.modified());
        files
            .chain(&self.client_ca)
            .map(|file| stamp(file).unwrap_or(SystemTime::UNIX_EPOCH))
            .collect()
    }
}

/// A certificate and its key.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct CertificateText {
    /// PEM file of the certificate and those above it.
    #[schemars(length(min = 1, max = 4096))]
    pub cert: String,
    /// PEM file of the private key.
    #[schemars(length(min = 1, max = 4096))]
    pub key: String,
    /// Also served to clients that name no host, or an unknown one.
    #[serde(default)]
    pub default: bool,
}

/// Whether clients show certificates.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum ClientCertificates {
    #[default]
    Off,
    Optional,
    Required,
}

/// Whether key exchange is hybrid.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum PostQuantum {
    #[default]
    Prefer,
    Require,
    Off,
}
