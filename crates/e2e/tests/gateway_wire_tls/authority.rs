//! An authority, and clients that trust it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, NamedGroup, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// An authority, and what it issues, in a directory.
pub(crate) struct Authority {
    directory: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params
            .self_signed(&key)
            .expect("a certificate")
            .der()
            .clone();
        Self {
            directory: tempfile::tempdir().expect("a directory"),
            issuer: Issuer::new(params, key),
            root,
        }
    }

    /// Files of a certificate for this name, and of its key.
    pub(crate) fn issue(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let issued = params.signed_by(&key, &self.issuer).expect("a certificate");
        let path = |end: &str| self.directory.path().join(format!("{name}.{end}"));
        std::fs::write(path("pem"), issued.pem()).expect("a writable file");
        std::fs::write(path("key"), key.serialize_pem()).expect("a writable file");
        (path("pem"), path("key"))
    }

    /// A client of today.
    pub(crate) fn client(&self) -> Client {
        Client {
            root: self.root.clone(),
            alpn: vec![b"http/1.1".to_vec()],
            sessions: Arc::new(ClientSessionMemoryCache::new(8)),
            early: false,
            old: false,
        }
    }
}

/// A client.
pub(crate) struct Client {
    root: CertificateDer<'static>,
    alpn: Vec<Vec<u8>>,
    sessions: Arc<dyn ClientSessionStore>,
    early: bool,
    old: bool,
}

impl Client {
    /// That speaks these protocols.
    pub(crate) fn alpn(mut self, names: &[&str]) -> Self {
        self.alpn = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        self
    }

    /// That keeps its tickets there.
    pub(crate) fn sessions(mut self, sessions: Arc<dyn ClientSessionStore>) -> Self {
        self.sessions = sessions;
        self
    }

    /// That would send data early.
    pub(crate) fn early(mut self) -> Self {
        self.early = true;
        self
    }

    /// That knows TLS 1.2 and one cipher, and gives its keys away.
    pub(crate) fn old(mut self) -> Self {
        self.old = true;
        self
    }

    pub(crate) fn config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).expect("a root");
        let mut provider = aws_lc_rs::default_provider();
        let mut versions = vec![&rustls::version::TLS13, &rustls::version::TLS12];
        if self.old {
            provider = CryptoProvider {
                cipher_suites: vec![
                    aws_lc_rs::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                ],
                ..provider
            };
            versions.remove(0);
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(provider));
        let mut config = builder
            .with_protocol_versions(&versions)
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = self.alpn.clone();
        config.resumption = Resumption::store(self.sessions.clone());
        config.enable_early_data = self.early;
        config.enable_secret_extraction = self.old;
        config
    }

    pub(crate) fn session(&self, name: &str) -> ClientConnection {
        let name = ServerName::try_from(name.to_owned()).expect("a name");
        ClientConnection::new(Arc::new(self.config()), name).expect("a session")
    }

    /// What it says first.
    pub(crate) fn hello(&self, name: &str) -> Vec<u8> {
        let mut hello = Vec::new();
        self.session(name).write_tls(&mut hello).expect("memory");
        hello
    }

    /// Asks `host` for something on a connection made to `name`.
    pub(crate) async fn get(
        &self,
        door: SocketAddr,
        name: &str,
        host: &str,
    ) -> std::io::Result<String> {
        let mut stream = connect(&Arc::new(self.config()), door, name).await?;
        let ask = format!("GET /t HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

pub(crate) async fn connect(
    config: &Arc<ClientConfig>,
    door: SocketAddr,
    name: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let stream = TcpStream::connect(door).await?;
    TlsConnector::from(config.clone())
        .connect(name, stream)
        .await
}

/// Gives a ticket to whoever asks, whatever name it was for.
#[derive(Debug)]
pub(crate) struct Careless(pub(crate) ClientSessionMemoryCache);

fn any() -> ServerName<'static> {
    ServerName::try_from("any.test").expect("a name")
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
