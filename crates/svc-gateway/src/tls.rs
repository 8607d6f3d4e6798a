//! The TLS doors' certificates, from the files the config names.

use front_door::{CertificateFiles, ClientCertificates, KeyExchange, Tls, TlsError, TlsFiles};

use crate::config::{self, CertificateText, PostQuantum, TlsText};

/// Loads what the config names.
pub(crate) fn load(text: &TlsText) -> Result<Tls, TlsError> {
    let files = |pair: &CertificateText| CertificateFiles {
        chain: pair.cert.as_str().into(),
        key: pair.key.as_str().into(),
    };
    // The door serves the first one to those who name nobody it knows.
    let (default, others): (Vec<_>, Vec<_>) =
        text.certificates.iter().partition(|pair| pair.default);
    let ca = || text.client_ca.as_deref().unwrap_or_default().into();
    Tls::load(&TlsFiles {
        first_is_default: !default.is_empty(),
        certificates: default.into_iter().chain(others).map(files).collect(),
        clients: match text.client_certificates {
            config::ClientCertificates::Off => ClientCertificates::Unasked,
            config::ClientCertificates::Optional => ClientCertificates::Optional(ca()),
            config::ClientCertificates::Required => ClientCertificates::Required(ca()),
        },
        key_exchange: match text.post_quantum {
            PostQuantum::Prefer => KeyExchange::PreferPostQuantum,
            PostQuantum::Require => KeyExchange::RequirePostQuantum,
        },
    })
}
