//! What a pool encrypts with: whom it trusts, who it says it is, and by which name it calls its peers.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::spec::Protocol;

/// Where distributions keep the roots they trust.
const SYSTEM_ROOTS: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What HTTP/2 is called when protocols are agreed on.
pub(crate) const H2: &[u8] = b"h2";

/// Client TLS, made once from PEM text; two made from the same text are equal, and then connections stay.
#[derive(Clone)]
pub struct ClientTls {
    http1: Arc<ClientConfig>,
    h2: Arc<ClientConfig>,
    name: Option<ServerName<'static>>,
    fingerprint: u64,
}

/// The texts of client TLS.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct TlsText<'a> {
    /// Certificates of who may vouch for the peers.
    pub roots: &'a [u8],
    /// Our certificate chain, if peers ask for one.
    pub certificates: Option<&'a [u8]>,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// The name peers must have; their host unless given.
    pub server_name: Option<&'a str>,
}

/// Why TLS cannot be made from a text.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The roots are not PEM, or there are none.
    #[error("no root certificate can be read")]
    Roots,
    /// Certificates and key do not come together, or are not PEM.
    #[error("the client certificate and its key cannot be read")]
    Identity,
    /// They do not fit each other.
    #[error("the client certificate cannot be used: {0}")]
    Unfit(#[from] rustls::Error),
    /// The name is none.
    #[error("the server name is not a host name")]
    Name,
}

impl ClientTls {
    /// From texts; never an unchecked peer.
    pub fn new(text: TlsText<'_>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(text.roots) {
            let root = root.map_err(|_| TlsError::Roots)?;
            // System bundles hold a few that no longer parse; the others are enough.
            let _unusable = roots.add(root).is_err();
        }
        if roots.is_empty() {
            return Err(TlsError::Roots);
        }
        let versions = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let config = match (text.certificates, text.key) {
            (None, None) => versions.with_no_client_auth(),
            (Some(certificates), Some(key)) => {
                let (chain, key) = identity(certificates, key)?;
                versions.with_client_auth_cert(chain, key)?
            }
            _ => return Err(TlsError::Identity),
        };
        let name = text.server_name.map(server_name).transpose()?;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Ok(Self {
            http1: speaking(&config, b"http/1.1"),
            h2: speaking(&config, H2),
            name,
            fingerprint: hasher.finish(),
        })
    }

    /// The roots this machine trusts, as PEM. Reads files: not for a runtime's thread.
    pub fn system_roots() -> std::io::Result<Vec<u8>> {
        let chosen = std::env::var_os("SSL_CERT_FILE");
        let chosen = chosen.as_deref().map(Path::new);
        let known = SYSTEM_ROOTS.iter().map(Path::new);
        let found = chosen.into_iter().chain(known).find(|path| path.is_file());
        std::fs::read(found.ok_or(std::io::ErrorKind::NotFound)?)
    }

    pub(crate) fn config(&self, protocol: Protocol) -> Arc<ClientConfig> {
        match protocol {
            Protocol::Http1 => self.http1.clone(),
            Protocol::H2 => self.h2.clone(),
        }
    }

    pub(crate) fn name_for(&self, host: &str) -> Result<ServerName<'static>, TlsError> {
        match &self.name {
            Some(name) => Ok(name.clone()),
            None => server_name(host),
        }
    }
}

fn speaking(config: &ClientConfig, protocol: &[u8]) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config)
}

fn identity(
    certificates: &[u8],
    key: &[u8],
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
    let chain = chain.map_err(|_| TlsError::Identity)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::Identity)?;
    Ok((chain, key))
}

fn server_name(name: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(name.to_owned()).map_err(|_| TlsError::Name)
}

impl PartialEq for ClientTls {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientTls")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
