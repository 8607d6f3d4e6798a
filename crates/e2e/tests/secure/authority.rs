//! An authority that signs the node's certificate and those of clients, and a client that shows one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Signs the node's certificate and those of clients.
pub(crate) struct Authority {
    directory: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key).unwrap();
        std::fs::write(directory.path().join("root.pem"), root.pem()).unwrap();
        Self {
            directory,
            root: root.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Files of a certificate for this name, and of its key.
    pub(crate) fn issue(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let issued = params.signed_by(&key, &self.issuer).unwrap();
        let (cert, secret) = (
            self.file(&format!("{name}.pem")),
            self.file(&format!("{name}.key")),
        );
        std::fs::write(&cert, issued.pem()).unwrap();
        std::fs::write(&secret, key.serialize_pem()).unwrap();
        (cert, secret)
    }

    /// A client that shows the certificate of this name.
    pub(crate) fn client(&self, name: &str) -> Arc<ClientConfig> {
        let (cert, key) = self.issue(name);
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_client_auth_cert(
            vec![CertificateDer::from_pem_file(cert).unwrap()],
            PrivateKeyDer::from_pem_file(key).unwrap(),
        );
        Arc::new(config.unwrap())
    }
}

/// The first line of the answer to a request on a connection of this client.
pub(crate) async fn asked(client: Arc<ClientConfig>, door: SocketAddr, request: &str) -> String {
    let stream = TcpStream::connect(door).await.unwrap();
    let name = ServerName::try_from("node.test").unwrap();
    let mut stream = TlsConnector::from(client)
        .connect(name, stream)
        .await
        .unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    let first = tokio::time::timeout(Duration::from_secs(20), lines.next_line());
    first.await.unwrap().unwrap().unwrap_or_default()
}
