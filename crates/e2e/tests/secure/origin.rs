//! Origins that speak TLS, and who signs what they are called by.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Who signs certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { issuer, pem }
    }

    /// What a server needs to be `name`.
    pub(crate) fn identity(&self, name: &str) -> ServerConfig {
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
pub(crate) struct Origin {
    pub(crate) addr: SocketAddr,
    received: Arc<AtomicU64>,
}

impl Origin {
    pub(crate) async fn start(identity: ServerConfig) -> Self {
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

    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::SeqCst)
    }
}
