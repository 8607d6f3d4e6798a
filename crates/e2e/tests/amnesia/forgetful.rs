//! A node full of things that should be forgotten: secrets of its config, credentials, keys, answers that it keeps.

use std::net::SocketAddr;
use std::sync::Arc;

use e2e::command::{macronode, ran};
use e2e::gateway::PATIENCE;
use e2e::{START, binary, runtime};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use testkit::http::{self, request_bytes};
use testkit::process::{Process, Program};
use testkit::upstream::{Reply, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::END;

pub(crate) const TOKEN: &str = "tok-3f9c1a77e0b54d2c8a61";
const CACHED: &str = "cached-b6d09e4172cc5a3f";
const ROOT_KEY: &str = "9d1c3be8a07f4426b15e08d2c96a73f0415d8eab2703c6f94b1872ae5d60f39c";

/// Such a node, and what to look for in it.
pub(crate) struct Forgetful {
    process: Process,
    tls: SocketAddr,
    edge: SocketAddr,
    api_key: String,
    roots: RootCertStore,
    wanted: Vec<(&'static str, Vec<u8>)>,
    _origin: Upstream,
    _files: TempDir,
}

impl Forgetful {
    pub(crate) async fn start(amnesia: bool) -> Self {
        let origin = Upstream::start().await.expect("a free port");
        let body = format!("{CACHED} ").repeat(4_000);
        let fresh = Reply::status(200).header("cache-control", "max-age=600");
        origin.set_default(fresh.body(body));
        let made = ran(&mut macronode(["key", "new", "--tenant", "gold"])).stdout;
        let (api_key, keys) = made.split_once('\n').expect("a key and lines");
        let files = tempfile::tempdir().expect("a directory");
        let issued = rcgen::generate_simple_self_signed(["a.test".to_owned()]).expect("a key");
        let (cert, key) = (files.path().join("cert"), files.path().join("key"));
        std::fs::write(&cert, issued.cert.pem()).expect("a writable file");
        std::fs::write(&key, issued.signing_key.serialize_pem()).expect("a writable file");
        let text = format!(
            "amnesia = {amnesia}\n[admin]\ntoken = \"{TOKEN}\"\n\
             [edge]\nlisten = [\"127.0.0.1:0\"]\nlimits.rps = 0\n\
             [[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"http://{at}\"\n\
             private_networks = [\"127.0.0.0/8\"]\n\
             [gateway]\nlisten = [\"127.0.0.1:0\"]\n\
             [gateway.tls]\nlisten = [\"127.0.0.1:0\"]\n\
             certificates = [{{ cert = {cert:?}, key = {key:?} }}]\n\
             [[gateway.routes]]\nname = \"all\"\nupstream = \"main\"\n\
             [gateway.upstreams.main]\nendpoints = [\"http://{at}\"]\n\
             {keys}[gateway.identity.passport]\nroot_key = \"{ROOT_KEY}\"\n",
            at = origin.addr()
        );
        let program = Program::new(binary()).expect("a temporary directory");
        let program = program.args(["run", "--runtime", &runtime()]);
        let program = program.args(["--set", "admin.listen=127.0.0.1:0"]);
        let program = program.args(["--set", "log.format=json"]);
        // The kernel would not let its own user look into it; and it is looked into after its end.
        let program = program.env("MACRONODE_CHAOS_OPEN_TO_SCANS", "1");
        let program = program.env("MACRONODE_CHAOS_LINGER_MS", "60000");
        // The heap keeps what is freed: nothing is gone because the system took its page, only because it was wiped.
        let program = program.env("MIMALLOC_PURGE_DELAY", "-1");
        let program = program.config(&text).expect("a writable file");
        let process = program.start().expect("the binary starts");
        process.wait_ready(START).await.expect("a ready node");
        let announced = process.announced(START).await.expect("its ready line");
        let mut roots = RootCertStore::empty();
        roots.add(issued.cert.der().clone()).expect("a certificate");
        let (api_key, wanted) = (api_key.trim().to_owned(), {
            let scalar = scalar(&issued.signing_key.serialize_der());
            let turned: Vec<u8> = scalar.iter().rev().copied().collect();
            vec![
                ("admin token", TOKEN.into()),
                ("passport root key", ROOT_KEY.into()),
                ("API key, as read", api_key.trim().into()),
                ("cached answers", CACHED.into()),
                ("TLS private key, as read", scalar),
                // As the library computes with it.
                ("TLS private key", turned),
            ]
        });
        Self {
            process,
            tls: announced["gateway.tls"],
            edge: announced["edge.http"],
            api_key,
            roots,
            wanted,
            _origin: origin,
            _files: files,
        }
    }

    /// Asks for things, so that the node has them.
    pub(crate) async fn fill(&self) {
        for number in 0..10 {
            let asked = request_bytes("GET", "a.test", &format!("/o/{number}"), &[], b"");
            let answer = http::exchange(self.edge, &asked, PATIENCE).await;
            assert_eq!(answer.expect("an answer").status, 200);
            self.over_tls().await;
        }
    }

    async fn over_tls(&self) {
        let versions = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions();
        let config = versions
            .expect("its own versions")
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        let stream = TcpStream::connect(self.tls).await.expect("a connection");
        let name = ServerName::try_from("a.test").expect("a name");
        let connector = TlsConnector::from(Arc::new(config));
        let mut stream = connector.connect(name, stream).await.expect("a handshake");
        let ask = format!(
            "GET / HTTP/1.1\r\nhost: a.test\r\nx-api-key: {}\r\nconnection: close\r\n\r\n",
            self.api_key
        );
        let sent = stream.write_all(ask.as_bytes()).await;
        sent.expect("a connection");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("an answer");
        assert!(answer.starts_with(b"HTTP/1.1 200"));
    }

    /// How often each is found in the node's memory.
    pub(crate) fn scan(&self) -> Vec<(&'static str, usize)> {
        let wanted: Vec<&[u8]> = self.wanted.iter().map(|(_, bytes)| &bytes[..]).collect();
        let found = self.process.occurrences(&wanted);
        let found = found.expect("memory that may be looked at");
        let names = self.wanted.iter().map(|(name, _)| *name);
        names.zip(found).collect()
    }

    /// Ends everything in the process, and not the process.
    pub(crate) async fn close(&self) {
        self.process.signal(libc::SIGTERM).expect("a process");
        let closed = self
            .process
            .wait_for_line(|line| line.text == "closed", END);
        closed.await.expect("an end");
    }
}

/// The secret number of a P-256 key in PKCS #8.
fn scalar(der: &[u8]) -> Vec<u8> {
    const BEFORE: [u8; 5] = [2, 1, 1, 4, 32];
    let at = der.windows(BEFORE.len()).position(|at| at == BEFORE);
    let at = at.expect("a private key") + BEFORE.len();
    der[at..at + 32].to_vec()
}
