//! Key exchange as the config has it, at the doors of the gateway and of the edge: preferred, required, switched off.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use e2e::{START, binary, runtime};
use rustls::crypto::aws_lc_rs::kx_group::{X25519, X25519MLKEM768};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, HandshakeKind, RootCertStore};
use testkit::process::{Process, Program};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const PATIENCE: Duration = Duration::from_secs(10);

/// A node with a TLS door of each kind.
struct Doors {
    process: Process,
    doors: Vec<(&'static str, SocketAddr)>,
    roots: RootCertStore,
}

impl Doors {
    async fn open(post_quantum: &str) -> Self {
        let program = Program::new(binary()).unwrap();
        let issued = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
        let cert = program.file("cert.pem", issued.cert.pem()).unwrap();
        let key = issued.signing_key.serialize_pem();
        let key = program.file("key.pem", key).unwrap();
        let tls = format!(
            "listen = [\"127.0.0.1:0\"]\ncertificates = [{{ cert = {cert:?}, key = {key:?} }}]\n{post_quantum}\n"
        );
        let text = format!(
            "[gateway]\nlisten = [\"127.0.0.1:0\"]\n[gateway.tls]\n{tls}\
             [[gateway.routes]]\nname = \"all\"\nupstream = \"main\"\n\
             [gateway.upstreams.main]\nendpoints = [\"http://127.0.0.1:9\"]\n\
             [edge]\nlisten = [\"127.0.0.1:0\"]\n[edge.tls]\n{tls}"
        );
        let program = program.args(["run", "--runtime", &runtime()]);
        let program = program.args(["--set", "admin.listen=127.0.0.1:0"]);
        let program = program.config(&text).unwrap();
        let process = program.start().unwrap();
        process.wait_ready(START).await.unwrap();
        let announced = process.announced(START).await.unwrap();
        let doors = ["gateway.tls", "edge.tls"].map(|door| (door, announced[door]));
        let mut roots = RootCertStore::empty();
        roots.add(issued.cert.der().clone()).unwrap();
        Self {
            process,
            doors: doors.to_vec(),
            roots,
        }
    }

    /// What a client that knows these groups, the first of them best, agrees on at this door: how and by which.
    async fn shake(
        &self,
        door: SocketAddr,
        groups: &[&'static dyn SupportedKxGroup],
    ) -> Result<(HandshakeKind, String), String> {
        let provider = CryptoProvider {
            kx_groups: groups.to_vec(),
            ..aws_lc_rs::default_provider()
        };
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        let stream = TcpStream::connect(door).await.unwrap();
        let name = ServerName::try_from("a.test").unwrap();
        let shaking = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let shaken = tokio::time::timeout(PATIENCE, shaking).await.unwrap();
        let stream = shaken.map_err(|error| error.to_string())?;
        let session = stream.get_ref().1;
        let group = session.negotiated_key_exchange_group().unwrap().name();
        Ok((session.handshake_kind().unwrap(), format!("{group:?}")))
    }

    /// Waits until this is counted at this door.
    async fn counted(&self, name: &str, door: &str, label: (&str, &str), count: u64) {
        let labels = [("door", door), label];
        e2e::wait::eventually("it is counted", PATIENCE, async || {
            self.process.metric(name, &labels).await.unwrap() as u64 == count
        })
        .await;
    }
}

const BOTH: [&dyn SupportedKxGroup; 2] = [X25519, X25519MLKEM768];

// req: ND-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_word_it_is_hybrid_for_all_who_can_and_no_order_of_wishes_changes_that() {
    let node = Doors::open("").await;
    for (name, door) in &node.doors {
        let new = node.shake(*door, &[X25519MLKEM768, X25519]).await.unwrap();
        assert_eq!(new, (HandshakeKind::Full, "X25519MLKEM768".to_owned()));
        let again = node.shake(*door, &BOTH).await.unwrap();
        let kind = HandshakeKind::FullWithHelloRetryRequest;
        assert_eq!(again, (kind, "X25519MLKEM768".to_owned()));
        let old = node.shake(*door, &[X25519]).await.unwrap();
        assert_eq!(old.1, "X25519");
        let handshakes = "tls_handshakes_total";
        node.counted(handshakes, name, ("group", "X25519MLKEM768"), 2)
            .await;
        node.counted(handshakes, name, ("group", "X25519"), 1).await;
    }
}

// req: ND-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn required_it_turns_away_who_cannot_with_an_alert_that_is_counted() {
    let node = Doors::open("post_quantum = \"require\"").await;
    for (name, door) in &node.doors {
        assert_eq!(node.shake(*door, &BOTH).await.unwrap().1, "X25519MLKEM768");
        let refused = node.shake(*door, &[X25519]).await.unwrap_err();
        assert!(refused.contains("HandshakeFailure"), "{refused}");
        node.counted("tls_failures_total", name, ("reason", "key-exchange"), 1)
            .await;
    }
}

// req: ND-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn switched_off_it_is_as_before() {
    let node = Doors::open("post_quantum = \"off\"").await;
    for (_, door) in &node.doors {
        assert_eq!(node.shake(*door, &BOTH).await.unwrap().1, "X25519");
        let refused = node.shake(*door, &[X25519MLKEM768]).await.unwrap_err();
        assert!(refused.contains("HandshakeFailure"), "{refused}");
    }
}
