//! Origins over TLS: whoever is not who was asked for gets no request.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use e2e::edge::{Edge, home, place};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use testkit::http::Response;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What origins here are called: by no name that could lead to two addresses.
const HOST: &str = "127.0.0.1";

/// Who signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { issuer, pem }
    }

    /// What a server needs to be `name`.
    fn identity(&self, name: &str) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let chain = vec![CertificateDer::from(certificate.der().to_vec())];
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let builder = ServerConfig::builder().with_no_client_auth();
        builder.with_single_cert(chain, key).unwrap()
    }
}

/// An origin that counts the requests that reach it.
struct Origin {
    addr: SocketAddr,
    received: Arc<AtomicU64>,
}

impl Origin {
    async fn start(identity: ServerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (addr, received) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
        let (acceptor, counted) = (TlsAcceptor::from(Arc::new(identity)), received.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, counted) = (acceptor.clone(), counted.clone());
                tokio::spawn(async move {
                    let mut stream = acceptor.accept(stream).await.ok()?;
                    let mut head = [0; 4096];
                    while stream.read(&mut head).await.ok()? > 0 {
                        counted.fetch_add(1, Ordering::SeqCst);
                        let answer = "HTTP/1.1 200 OK\r\ncache-control: max-age=600\r\ncontent-length: 6\r\n\r\nsecure";
                        stream.write_all(answer.as_bytes()).await.ok()?;
                        stream.flush().await.ok()?;
                    }
                    Some(())
                });
            }
        });
        Self { addr, received }
    }

    fn received(&self) -> u64 {
        self.received.load(Ordering::SeqCst)
    }
}

/// An edge before an origin that it knows as `name`, and whose certificate it wants from this authority.
async fn edge(origin: &Origin, name: &str, authority: &Authority) -> Edge {
    let files = home();
    let ca = place(files.path(), "ca.pem", authority.pem.as_bytes());
    let section = format!(
        "[[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"https://{name}:{}\"\nca = \"{}\"\ntries = 1\n\
         private_networks = [\"127.0.0.0/8\"]\n",
        origin.addr.port(),
        ca.display()
    );
    Edge::at(files, &section).await
}

fn reason(answer: &Response) -> &str {
    answer.header("x-macronode-reason").unwrap_or_default()
}

// req: ED-04, ED-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_origin_is_asked_over_tls_when_it_is_who_it_should_be() {
    let authority = Authority::new();
    let origin = Origin::start(authority.identity(HOST)).await;
    let edge = edge(&origin, HOST, &authority).await;
    let answer = edge.get("/o/a").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "secure"));
    assert_eq!(edge.get("/o/a").await.text(), "secure");
    assert_eq!(origin.received(), 1);
    edge.end().await;
}

// req: ED-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_another_name_or_signer_is_refused_before_a_request_is_sent() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    for (named, signer, why) in [
        ("other.test", &authority, "another name"),
        (HOST, &stranger, "another signer"),
    ] {
        let origin = Origin::start(signer.identity(named)).await;
        let edge = edge(&origin, HOST, &authority).await;
        let answer = edge.get("/o/a").await;
        assert_eq!(
            (answer.status, reason(&answer)),
            (502, "origin-untrusted"),
            "{why}"
        );
        assert_eq!(origin.received(), 0, "{why}");
        edge.end().await;
    }
}
