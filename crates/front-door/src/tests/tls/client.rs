//! An authority, and clients that trust it.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, NamedGroup, RootCertStore};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::super::*;
use super::GET;
use crate::{CertificateFiles, TlsFiles};

/// An authority, and what it issues, in a directory.
pub(super) struct Authority {
    directory: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
    pub(super) root: PathBuf,
}

impl Authority {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = directory.path().join("root.pem");
        std::fs::write(&root, params.self_signed(&key).unwrap().pem()).unwrap();
        Self {
            directory,
            issuer: Issuer::new(params, key),
            root,
        }
    }

    pub(super) fn issue(&self, file: &str, names: &[&str]) -> CertificateFiles {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, file);
        let issued = params.signed_by(&key, &self.issuer).unwrap();
        let path = |end: &str| self.directory.path().join(format!("{file}.{end}"));
        std::fs::write(path("pem"), issued.pem()).unwrap();
        std::fs::write(path("key"), key.serialize_pem()).unwrap();
        CertificateFiles {
            chain: path("pem"),
            key: path("key"),
        }
    }

    pub(super) fn files(&self, certificates: Vec<CertificateFiles>) -> TlsFiles {
        TlsFiles {
            certificates,
            ..TlsFiles::default()
        }
    }

    pub(super) fn client(&self) -> Client {
        Client {
            root: self.root.clone(),
            alpn: vec![b"http/1.1".to_vec()],
            groups: None,
            versions: vec![&rustls::version::TLS13, &rustls::version::TLS12],
            identity: None,
            sessions: Arc::new(ClientSessionMemoryCache::new(8)),
        }
    }
}

pub(super) struct Client {
    pub(super) root: PathBuf,
    pub(super) alpn: Vec<Vec<u8>>,
    pub(super) groups: Option<Vec<&'static dyn rustls::crypto::SupportedKxGroup>>,
    pub(super) versions: Vec<&'static rustls::SupportedProtocolVersion>,
    pub(super) identity: Option<CertificateFiles>,
    pub(super) sessions: Arc<dyn ClientSessionStore>,
}

fn chain(file: &Path) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(file)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

impl Client {
    pub(super) fn config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(chain(&self.root));
        let default = aws_lc_rs::default_provider();
        let provider = CryptoProvider {
            kx_groups: self.groups.clone().unwrap_or(default.kx_groups),
            ..default
        };
        let builder = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(files) => {
                let key = PrivateKeyDer::from_pem_file(&files.key).unwrap();
                builder
                    .with_client_auth_cert(chain(&files.chain), key)
                    .unwrap()
            }
        };
        config.alpn_protocols = self.alpn.clone();
        config.resumption = Resumption::store(self.sessions.clone());
        config
    }

    pub(super) async fn connect(
        &self,
        house: &House,
        name: &str,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        connect(&Arc::new(self.config()), house, name).await
    }

    pub(super) async fn get(&self, house: &House, name: &str) -> std::io::Result<String> {
        get(&Arc::new(self.config()), house, name).await
    }
}

pub(super) async fn connect(
    config: &Arc<ClientConfig>,
    house: &House,
    name: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connector = TlsConnector::from(config.clone());
    connector.connect(name, house.connect().await).await
}

pub(super) async fn get(
    config: &Arc<ClientConfig>,
    house: &House,
    name: &str,
) -> std::io::Result<String> {
    let mut stream = connect(config, house, name).await?;
    stream.write_all(GET).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8(answer).unwrap())
}

/// Gives a ticket to whoever asks, whatever name it was for.
#[derive(Debug)]
pub(super) struct Careless(pub(super) ClientSessionMemoryCache);

fn any() -> ServerName<'static> {
    ServerName::try_from("any.test").unwrap()
}

impl ClientSessionStore for Careless {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.0.set_kx_hint(any(), group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.0.kx_hint(&any())
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.0.set_tls12_session(any(), value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.0.tls12_session(&any())
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.0.remove_tls12_session(&any());
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.0.insert_tls13_ticket(any(), value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.0.take_tls13_ticket(&any())
    }
}
