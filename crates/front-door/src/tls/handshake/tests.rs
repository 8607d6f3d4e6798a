use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::client::{ClientSessionMemoryCache, Resumption};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_rustls::TlsConnector;

use super::*;
use crate::tls::{CertificateFiles, ClientCertificates, TlsFiles, reason};

const YEAR: u64 = 365 * 24 * 60 * 60;

/// Seconds of Unix time, as the test says.
#[derive(Debug)]
struct Told(AtomicU64);

impl TimeProvider for Told {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = Duration::from_secs(self.0.load(Ordering::Relaxed));
        Some(UnixTime::since_unix_epoch(seconds))
    }
}

struct Sides {
    tls: Tls,
    clock: Arc<Told>,
    connector: TlsConnector,
}

/// A node whose clock can be set, and a client whose certificate ends with the year 2090.
fn sides(version: &'static SupportedProtocolVersion, agrees_slowly: bool) -> Sides {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = params.self_signed(&key).unwrap();
    std::fs::write(path("root.pem"), root.pem()).unwrap();
    let issuer = Issuer::new(params, key);
    let issue = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(2091, 1, 1);
        let issued = params.signed_by(&key, &issuer).unwrap();
        std::fs::write(path(&format!("{name}.pem")), issued.pem()).unwrap();
        std::fs::write(path(&format!("{name}.key")), key.serialize_pem()).unwrap();
        CertificateFiles {
            chain: path(&format!("{name}.pem")),
            key: path(&format!("{name}.key")),
        }
    };
    let own = issue("client.test");
    let mut tls = Tls::load(&TlsFiles {
        certificates: vec![issue("node.test")],
        clients: ClientCertificates::Optional(path("root.pem")),
        ..TlsFiles::default()
    })
    .unwrap();
    let clock = Arc::new(Told(AtomicU64::new(UnixTime::now().as_secs())));
    for config in [Some(&mut tls.config), tls.hybrid.as_mut()]
        .into_iter()
        .flatten()
    {
        Arc::make_mut(config).time_provider = clock.clone();
    }
    let config = client(version, agrees_slowly, &own, &path("root.pem"));
    Sides {
        connector: TlsConnector::from(Arc::new(config)),
        tls,
        clock,
    }
}

fn client(
    version: &'static SupportedProtocolVersion,
    agrees_slowly: bool,
    own: &CertificateFiles,
    root: &Path,
) -> ClientConfig {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    if agrees_slowly {
        // It sends a share for its first wish only, and is asked for another.
        let groups = &mut provider.kx_groups;
        groups.sort_by_key(|group| group.name() == crate::tls::HYBRID);
    }
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(root).unwrap())
        .unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(
            vec![CertificateDer::from_pem_file(&own.chain).unwrap()],
            PrivateKeyDer::from_pem_file(&own.key).unwrap(),
        )
        .unwrap();
    config.resumption = Resumption::store(Arc::new(ClientSessionMemoryCache::new(8)));
    config
}

impl Sides {
    /// What the node knows of a connection, or what it refused with, and what the client was told.
    async fn meet(&self) -> (Result<TlsFacts, io::Error>, Result<(), io::Error>) {
        let (here, there) = duplex(1 << 20);
        let turns = Semaphore::new(1);
        let name = ServerName::try_from("node.test").unwrap();
        let server = async {
            let (mut session, facts) = shake_hands(here, &self.tls, &turns).await?;
            session.write_all(b"x").await?;
            session.shutdown().await?;
            Ok(facts)
        };
        let client = async {
            let mut stream = self.connector.connect(name, there).await?;
            // With it come the tickets.
            stream.read_exact(&mut [0]).await.map(drop)
        };
        tokio::join!(server, client)
    }
}

// req: GW-12
#[tokio::test]
async fn a_session_that_is_taken_up_again_is_worth_no_more_than_its_certificate_is_then() {
    for (version, agrees_slowly) in [(&TLS13, false), (&TLS13, true), (&TLS12, false)] {
        let sides = sides(version, agrees_slowly);
        for resumed in [false, true, true] {
            let (facts, told) = sides.meet().await;
            let facts = facts.unwrap();
            assert_eq!(facts.resumed, resumed, "{version:?}");
            assert_eq!(facts.client.unwrap().dns_names, ["client.test"]);
            told.unwrap();
        }
        let before = sides.clock.0.fetch_add(100 * YEAR, Ordering::Relaxed);
        let refused = |met: (Result<TlsFacts, io::Error>, Result<(), io::Error>)| {
            let (error, told) = (met.0.unwrap_err(), met.1.unwrap_err().to_string());
            assert_eq!(reason(&error), 2, "{version:?}: {error}");
            assert!(told.contains("CertificateExpired"), "{version:?}: {told}");
        };
        refused(sides.meet().await);
        // With a new session, too.
        let fresh = Sides {
            connector: TlsConnector::from(Arc::new({
                let mut config = ClientConfig::clone(sides.connector.config());
                config.resumption = Resumption::disabled();
                config
            })),
            tls: sides.tls.clone(),
            clock: sides.clock.clone(),
        };
        refused(fresh.meet().await);
        sides.clock.0.store(before, Ordering::Relaxed);
        assert!(fresh.meet().await.0.is_ok(), "{version:?}");
    }
}
