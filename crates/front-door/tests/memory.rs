//! What a connection costs that nobody uses: counted in bytes of the heap, with the peers' end outside of it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of a test, which ends where they fail"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use front_door::{
    CertificateFiles, DoorSettings, Fault, InPlace, Service, Tls, TlsFiles, Visit, serve,
};
use http::Response;
use http_body_util::Full;
use kernel::Kernel;
use kernel::drain::{Phase, Plan};
use kernel::readiness::State;
use kernel::serve::Door;
use kernel::supervisor::Supervisor;
use kernel::tree::{Child, ChildSpec, Restart};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};

/// Bytes that are allocated at this moment.
static LIVE: AtomicIsize = AtomicIsize::new(0);

struct Counting;

// SAFETY: everything is done by the system's allocator; only sizes are added up beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static SPEC: ChildSpec = ChildSpec {
    name: "door",
    doc: "test",
    depends_on: &[],
    phase: Phase::Intake,
    restart: Restart::Always,
    essential: true,
};

const CONNECTIONS: usize = 1000;
/// The promise.
const MOST: usize = 8 * 1024;
const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

struct Hello;

impl Service for Hello {
    type Body = Full<Bytes>;

    async fn call(&self, _: InPlace<'_>, _: &Visit) -> Response<Full<Bytes>> {
        Response::new(Full::new(Bytes::from_static(b"hello")))
    }

    fn refuse(&self, _: Fault, _: &Visit) -> Response<Bytes> {
        Response::new(Bytes::new())
    }
}

async fn open(tls: Option<Arc<Tls>>) -> SocketAddr {
    let settings = Arc::new(DoorSettings {
        tls,
        ..DoorSettings::default()
    });
    let door = Door::bind("door", "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = door.address();
    let child = Child::new(&SPEC, move |context| {
        let settings = settings.clone();
        serve(
            context,
            door.clone(),
            move || settings.clone(),
            Arc::new(Hello),
        )
    });
    let (kernel, publisher) = Kernel::new();
    let supervisor = Supervisor::new(kernel.clone(), publisher, vec![child]).unwrap();
    let plan = || Plan {
        accept_grace: Duration::ZERO,
        deadline: Duration::from_secs(3),
    };
    #[expect(clippy::disallowed_methods, reason = "the root of its own tree")]
    tokio::spawn(supervisor.run(plan));
    let mut changes = kernel.readiness.changes();
    while kernel.readiness.snapshot().state != State::Ready {
        changes.changed().await.unwrap();
    }
    address
}

/// Bytes of the heap per connection, once all rest.
async fn rest(connections: usize, mut connect: impl FnMut() -> TcpStream) -> usize {
    // Whatever is made once, and by the first few.
    let _first: Vec<_> = (0..10).map(|_| connect()).collect();
    let mut open = Vec::with_capacity(connections);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let before = LIVE.load(Ordering::Relaxed);
    for _ in 0..connections {
        open.push(connect());
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(1800)).await;
    let used = (LIVE.load(Ordering::Relaxed) - before).unsigned_abs();
    drop(open);
    used / connections
}

fn asked(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(GET).unwrap();
    let mut answer = [0; 1024];
    let read = stream.read(&mut answer).unwrap();
    assert!(answer[..read].ends_with(b"hello"));
    stream
}

fn asked_over_tls(address: SocketAddr, config: &Arc<rustls::ClientConfig>) -> TcpStream {
    let name = ServerName::try_from("a.test").unwrap();
    let mut session = rustls::ClientConnection::new(config.clone(), name).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    session.writer().write_all(GET).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"hello") {
        session.complete_io(&mut stream).unwrap();
        let mut bytes = [0; 1024];
        if let Ok(read) = session.reader().read(&mut bytes) {
            answer.extend_from_slice(&bytes[..read]);
        }
    }
    // Its session is forgotten, the connection stays.
    stream
}

fn over_h2(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    let head = b"\0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01a";
    stream.write_all(head).unwrap();
    let (mut answer, mut bytes) = (Vec::new(), [0; 1024]);
    while !answer.ends_with(b"hello") {
        let read = stream.read(&mut bytes).unwrap();
        assert_ne!(read, 0);
        answer.extend_from_slice(&bytes[..read]);
    }
    stream
}

/// Certificates, and a client that trusts them.
fn tls() -> (Arc<Tls>, Arc<rustls::ClientConfig>) {
    let directory = tempfile::tempdir().unwrap();
    let issued = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
    let (chain, key) = (
        directory.path().join("a.pem"),
        directory.path().join("a.key"),
    );
    std::fs::write(&chain, issued.cert.pem()).unwrap();
    std::fs::write(&key, issued.signing_key.serialize_pem()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(&chain).unwrap())
        .unwrap();
    let files = TlsFiles {
        certificates: vec![CertificateFiles { chain, key }],
        ..TlsFiles::default()
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (Arc::new(Tls::load(&files).unwrap()), Arc::new(config))
}

// req: GW-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_at_rest_costs_less_than_eight_kilobytes() {
    let plain = open(None).await;
    let (certificates, client) = tls();
    let secure = open(Some(certificates)).await;
    let silent = rest(CONNECTIONS, || TcpStream::connect(plain).unwrap()).await;
    let used = rest(CONNECTIONS, || asked(plain)).await;
    let tls = rest(CONNECTIONS / 5, || asked_over_tls(secure, &client)).await;
    let h2 = rest(CONNECTIONS / 5, || over_h2(plain)).await;
    println!("bytes per connection: silent {silent}, HTTP/1 {used}, over TLS {tls}, HTTP/2 {h2}");
    assert!([silent, used, tls, h2].iter().all(|bytes| *bytes <= MOST));
}
