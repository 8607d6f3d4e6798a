//! The overlay over TLS: who shows a certificate that is listed may operate the node, nobody else by theirs.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use e2e::overlay::{OPERATOR, Overlay, PATIENCE};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Signs the node's certificate and those of clients.
struct Authority {
    directory: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
}

impl Authority {
    fn new() -> Self {
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

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Files of a certificate for this name, and of its key.
    fn issue(&self, name: &str) -> (PathBuf, PathBuf) {
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
    fn client(&self, name: &str) -> Arc<ClientConfig> {
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
async fn asked(client: Arc<ClientConfig>, door: SocketAddr, request: &str) -> String {
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

// req: ND-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_certificate_that_is_listed_may_operate() {
    let authority = Authority::new();
    let ((cert, key), root) = (authority.issue("node.test"), authority.file("root.pem"));
    let more = format!(
        "[overlay.tls]\nlisten = [\"127.0.0.1:0\"]\n\
         certificates = [{{ cert = {cert:?}, key = {key:?} }}]\n\
         client_certificates = \"optional\"\nclient_ca = {root:?}\n\
         [overlay.certificates]\n\"ops.test\" = \"operate\"\n\"look.test\" = \"read\"\n"
    );
    let node = Overlay::start(&more).await;
    let door = node.process.addr("overlay.tls", PATIENCE).await.unwrap();
    let post = "POST /v1/reload HTTP/1.1\r\nhost: node.test\r\ncontent-length: 0\r\n\r\n";
    let get = "GET /v1/status HTTP/1.1\r\nhost: node.test\r\n\r\n";
    for (name, request, status) in [
        ("ops.test", post, 202),
        ("look.test", get, 200),
        ("look.test", post, 403),
        ("other.test", get, 403),
    ] {
        let line = asked(authority.client(name), door, request).await;
        assert!(line.contains(&format!(" {status} ")), "{name}: {line}");
    }
    let by_token = node.ask("POST", "/v1/reload", Some(OPERATOR), "").await;
    assert_eq!(by_token.status, 202, "tokens count beside certificates");
}
