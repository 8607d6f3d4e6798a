//! The TLS doors, as they are written.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Whether key exchange is safe against quantum computers: where the client can, or always.
    #[serde(default)]
    pub post_quantum: PostQuantum,
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

/// Whether key exchange must be hybrid.
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
}
