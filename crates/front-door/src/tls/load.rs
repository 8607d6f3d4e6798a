//! From files to a TLS configuration, or to a sentence that says what to mend.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, ProducesTickets, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{Error as RustlsError, InconsistentKeys, RootCertStore, ServerConfig};
use thiserror::Error;
use zeroize::Zeroizing;

use super::names::Names;
use super::secret::read_key;
use super::{HYBRID, Tls};

/// Where certificates and keys lie, and what is asked of clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// One or several; the right one is chosen by the name the client asks for.
    pub certificates: Vec<CertificateFiles>,
    /// Whether clients that ask for no name, or an unknown one, get the first certificate. They get an alert otherwise.
    pub first_is_default: bool,
    /// What is asked of clients.
    pub clients: ClientCertificates,
    /// How keys may be agreed on.
    pub key_exchange: KeyExchange,
}

/// A certificate and its key, in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, then those that vouch for it.
    pub chain: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// Whether clients show certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// They are not asked for any.
    #[default]
    Unasked,
    /// They may; one that is not signed by one of these is refused.
    Optional(PathBuf),
    /// They must.
    Required(PathBuf),
}

/// How keys may be agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyExchange {
    /// Safe from quantum computers where the client can, as all do otherwise.
    #[default]
    PreferPostQuantum,
    /// Safe from quantum computers, or not at all. TLS 1.3 only.
    RequirePostQuantum,
    /// As all did before, whatever the client can: for networks that lose the larger hello.
    Classical,
}

/// Why there can be no TLS.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file that cannot be read.
    #[error("cannot read {}: {cause}; check that it exists and that the node may read it", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// Why.
        cause: String,
    },
    /// A file without what it should hold.
    #[error("{} holds no {what} in PEM; {remedy}", file.display())]
    Empty {
        /// Which.
        file: PathBuf,
        /// What was looked for.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A file whose content is no certificate or key that can be used.
    #[error("{} cannot be used: {cause}", file.display())]
    Unusable {
        /// Which.
        file: PathBuf,
        /// Why.
        cause: String,
    },
    /// A key of another certificate.
    #[error(
        "the key in {} does not belong to the certificate in {}; put the pair that was issued together",
        key.display(), chain.display()
    )]
    KeyMismatch {
        /// The certificate.
        chain: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// A certificate that no client could ask for.
    #[error(
        "the certificate in {} names no host; issue it with subject alternative names, or make it the default",
        file.display()
    )]
    Nameless {
        /// Which.
        file: PathBuf,
    },
    /// Nothing at all.
    #[error("no certificate is given; name at least one chain and its key")]
    NoCertificates,
    /// The library refuses.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] RustlsError),
}

pub(super) fn load(files: &TlsFiles) -> Result<Tls, TlsError> {
    if files.certificates.is_empty() {
        return Err(TlsError::NoCertificates);
    }
    let provider = Arc::new(provider(files.key_exchange));
    let mut names = Names::default();
    for (number, pair) in files.certificates.iter().enumerate() {
        let key = Arc::new(certified(pair)?);
        let default = number == 0 && files.first_is_default;
        if default {
            names.set_default(key.clone());
        }
        if !names.add(&key) && !default {
            return Err(TlsError::Nameless {
                file: pair.chain.clone(),
            });
        }
    }
    let (clients, vouchers) = verifier(&files.clients, &provider)?;
    let maker = Maker {
        clients,
        listed: names.listed(),
        names: Arc::new(names),
        // Its keys are its own and change by themselves; a reload begins with new ones.
        tickets: aws_lc_rs::Ticketer::new()?,
    };
    let hybrid = match files.key_exchange {
        KeyExchange::PreferPostQuantum => Some(maker.config(KeyExchange::RequirePostQuantum)?),
        KeyExchange::RequirePostQuantum | KeyExchange::Classical => None,
    };
    Ok(Tls {
        config: maker.config(files.key_exchange)?,
        hybrid,
        clients: maker.clients,
        names: maker.listed,
        vouchers,
    })
}

/// What the configurations of one door share: a session that began under one is taken up under another.
struct Maker {
    clients: Arc<dyn ClientCertVerifier>,
    names: Arc<Names>,
    listed: Vec<String>,
    tickets: Arc<dyn ProducesTickets>,
}

impl Maker {
    fn config(&self, exchange: KeyExchange) -> Result<Arc<ServerConfig>, TlsError> {
        let versions: &[_] = match exchange {
            KeyExchange::PreferPostQuantum | KeyExchange::Classical => &[&TLS13, &TLS12],
            KeyExchange::RequirePostQuantum => &[&TLS13],
        };
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider(exchange)))
            .with_protocol_versions(versions)?
            .with_client_cert_verifier(self.clients.clone())
            .with_cert_resolver(self.names.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.ticketer = self.tickets.clone();
        Ok(Arc::new(config))
    }
}

fn provider(exchange: KeyExchange) -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    let hybrid = |group: &&dyn SupportedKxGroup| group.name() == HYBRID;
    match exchange {
        KeyExchange::PreferPostQuantum => {}
        KeyExchange::RequirePostQuantum => provider.kx_groups.retain(hybrid),
        KeyExchange::Classical => provider.kx_groups.retain(|group| !hybrid(group)),
    }
    provider
}

/// The key goes from the file into the library's hands, and is wiped wherever it was on the way.
fn certified(pair: &CertificateFiles) -> Result<CertifiedKey, TlsError> {
    let chain = certificates(&pair.chain)?;
    let remedy = "give the file with the private key, unencrypted";
    let unread = |error| unread(&pair.key, error, "private key", remedy);
    let text = std::fs::read(&pair.key).map_err(|cause| unread(pem::Error::Io(cause)))?;
    let key = read_key(&Zeroizing::new(text)).map_err(unread)?;
    let key =
        aws_lc_rs::sign::any_supported_type(&key).map_err(|error| unusable(&pair.key, error))?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        Ok(()) | Err(RustlsError::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(RustlsError::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            Err(TlsError::KeyMismatch {
                chain: pair.chain.clone(),
                key: pair.key.clone(),
            })
        }
        Err(error) => Err(unusable(&pair.chain, error)),
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let remedy = "give the file with the certificate, followed by its intermediates";
    let unread = |error| unread(file, error, "certificate", remedy);
    let found = CertificateDer::pem_file_iter(file).map_err(unread)?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(unread)?;
    match found.is_empty() {
        true => Err(unread(pem::Error::NoItemsFound)),
        false => Ok(found),
    }
}

/// What checks the certificates of clients, and a number for who may vouch for them.
fn verifier(
    clients: &ClientCertificates,
    provider: &Arc<CryptoProvider>,
) -> Result<(Arc<dyn ClientCertVerifier>, u64), TlsError> {
    let (file, required) = match clients {
        ClientCertificates::Unasked => return Ok((Arc::new(NoClientAuth), 0)),
        ClientCertificates::Optional(file) => (file, false),
        ClientCertificates::Required(file) => (file, true),
    };
    let (mut roots, mut vouchers) = (RootCertStore::empty(), DefaultHasher::new());
    for certificate in certificates(file)? {
        certificate.hash(&mut vouchers);
        roots
            .add(certificate)
            .map_err(|error| unusable(file, error))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let builder = match required {
        true => builder,
        false => builder.allow_unauthenticated(),
    };
    let verifier = builder.build().map_err(|error| unusable(file, error))?;
    Ok((verifier, vouchers.finish().max(1)))
}

fn unread(file: &Path, error: pem::Error, what: &'static str, remedy: &'static str) -> TlsError {
    let file = file.to_owned();
    match error {
        pem::Error::NoItemsFound => TlsError::Empty { file, what, remedy },
        pem::Error::Io(cause) => TlsError::Unreadable {
            file,
            cause: cause.to_string(),
        },
        other => TlsError::Unusable {
            file,
            cause: format!("{other:?}"),
        },
    }
}

fn unusable(file: &Path, cause: impl std::fmt::Display) -> TlsError {
    TlsError::Unusable {
        file: file.to_owned(),
        cause: cause.to_string(),
    }
}

#[cfg(test)]
mod tests;
