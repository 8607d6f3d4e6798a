//! Doors over real sockets. Each test has a house of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kernel::Kernel;
use kernel::drain::{Outcome, Phase, Plan};
use kernel::readiness::State;
use kernel::serve::{Door, IO_TIMEOUTS};
use kernel::supervisor::Supervisor;
use kernel::tree::{Child, ChildSpec, Restart};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{DoorSettings, Fault, Service, Timeouts, Upgrade, Upload, UploadError, Visit, serve};

mod h1;
mod h2;
mod life;
mod proxied;
mod tls;

static SPEC: ChildSpec = ChildSpec {
    name: "door",
    doc: "test",
    depends_on: &[],
    phase: Phase::Intake,
    restart: Restart::Always,
    essential: true,
};

const QUICK: Timeouts = Timeouts {
    handshake: Duration::from_millis(300),
    head: Duration::from_millis(300),
    body: Duration::from_millis(300),
    write: Duration::from_millis(300),
    idle: Duration::from_millis(900),
};
/// A deadline is kept to within two ticks; the rest is for a machine that has other things to do.
const LATE: Duration = Duration::from_millis(1_500);
/// A peer hears late of what the door began to time, so that for it the time is shorter.
const EARLY: Duration = Duration::from_millis(150);

type Body = BoxBody<Bytes, UploadError>;

/// `/slow` takes 300 ms, `/hang` for ever, `/panic` panics, `/big` is more than socket buffers hold, `/echo` sends the
/// body back, `/ignore` never looks at it, `/upgrade` echoes raw bytes, the rest says hello.
#[derive(Default)]
struct Host {
    calls: AtomicUsize,
    /// Calls that are going on.
    live: Arc<AtomicUsize>,
    refusals: AtomicUsize,
}

struct Live(Arc<AtomicUsize>);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn whole(text: impl Into<Bytes>) -> Response<Body> {
    let body = Full::new(text.into()).map_err(|never| match never {});
    Response::new(body.boxed())
}

impl Service for Host {
    type Body = Body;

    async fn call(&self, request: Request<Upload>, visit: &Visit) -> Response<Body> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.live.fetch_add(1, Ordering::Relaxed);
        let _live = Live(self.live.clone());
        match request.uri().path() {
            "/slow" => tokio::time::sleep(Duration::from_millis(300)).await,
            "/hang" => std::future::pending().await,
            "/panic" => panic!("bad service"),
            "/big" => return whole(vec![b'x'; 64 << 20]),
            "/echo" => return echo(request).await,
            "/upgrade" => return upgrade(request),
            "/trailers" => return trailers(),
            "/who" => return whole(format!("{visit:?}")),
            _ => {}
        }
        whole("hello")
    }

    fn refuse(&self, fault: Fault, _visit: &Visit) -> Response<Bytes> {
        self.refusals.fetch_add(1, Ordering::Relaxed);
        let (status, reason) = match fault {
            Fault::Malformed => (400, "malformed"),
            Fault::HeadTooLarge => (431, "head-too-large"),
            Fault::TargetTooLong => (414, "target-too-long"),
            Fault::Panic => (500, "internal"),
        };
        let answer = Response::builder()
            .status(status)
            .header("x-reason", reason);
        answer.body(Bytes::from_static(b"refused")).unwrap()
    }
}

async fn echo(request: Request<Upload>) -> Response<Body> {
    match request.into_body().collect().await {
        Ok(body) => whole(body.to_bytes()),
        Err(error) => {
            let mut answer = whole(error.to_string());
            *answer.status_mut() = match error {
                UploadError::TooSlow => http::StatusCode::REQUEST_TIMEOUT,
                _ => http::StatusCode::BAD_REQUEST,
            };
            answer
        }
    }
}

fn upgrade(mut request: Request<Upload>) -> Response<Body> {
    let upgrade = request.extensions_mut().remove::<Upgrade>().unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test's own task")]
    tokio::spawn(async move {
        let mut io = upgrade.await.unwrap();
        let mut bytes = [0; 64];
        while let Ok(read @ 1..) = io.read(&mut bytes).await {
            io.write_all(&bytes[..read]).await.unwrap();
        }
    });
    let mut answer = whole("");
    *answer.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
    answer
        .headers_mut()
        .insert("upgrade", "echo".parse().unwrap());
    answer
        .headers_mut()
        .insert("connection", "upgrade".parse().unwrap());
    answer
}

fn trailers() -> Response<Body> {
    let mut fields = http::HeaderMap::new();
    fields.insert("grpc-status", "0".parse().unwrap());
    let frames = [
        Ok(http_body::Frame::data(Bytes::from_static(b"hello"))),
        Ok(http_body::Frame::trailers(fields)),
    ];
    let mut answer = Response::new(StreamBody::new(futures_util::stream::iter(frames)).boxed());
    answer
        .headers_mut()
        .insert("trailer", "grpc-status".parse().unwrap());
    answer
}

struct House {
    kernel: Kernel,
    address: SocketAddr,
    host: Arc<Host>,
    running: tokio::task::JoinHandle<Outcome>,
}

fn quick() -> DoorSettings {
    DoorSettings {
        max_connections: 64,
        timeouts: QUICK,
        ..DoorSettings::default()
    }
}

impl House {
    async fn open(settings: DoorSettings) -> Self {
        let fixed = arc_swap::ArcSwap::from_pointee(settings);
        Self::open_live(Arc::new(fixed)).await
    }

    async fn open_live(settings: Arc<arc_swap::ArcSwap<DoorSettings>>) -> Self {
        let host = Arc::new(Host::default());
        let door = Door::bind("door", "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = door.address();
        let guests = host.clone();
        let child = Child::new(&SPEC, move |context| {
            let settings = settings.clone();
            serve(
                context,
                door.clone(),
                move || settings.load_full(),
                guests.clone(),
            )
        });
        let (kernel, publisher) = Kernel::new();
        let supervisor = Supervisor::new(kernel.clone(), publisher, vec![child]).unwrap();
        let plan = || Plan {
            accept_grace: Duration::ZERO,
            deadline: Duration::from_secs(3),
        };
        #[expect(clippy::disallowed_methods, reason = "the root of its own tree")]
        let running = tokio::spawn(supervisor.run(plan));
        let mut changes = kernel.readiness.changes();
        while kernel.readiness.snapshot().state != State::Ready {
            changes.changed().await.unwrap();
        }
        Self {
            kernel,
            address,
            host,
            running,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends `bytes` and reads until the door closes.
    async fn tell(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        until_closed(&mut stream).await.1
    }

    fn timeouts(&self, op: &'static str) -> u64 {
        self.kernel.registry.counter(&IO_TIMEOUTS, &[op]).get()
    }

    fn live(&self) -> usize {
        self.host.live.load(Ordering::Relaxed)
    }
}

/// How long the peer of `stream` keeps it open, and what it sent.
async fn until_closed(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> (Duration, String) {
    let (began, mut read) = (kernel::clock::now(), Vec::new());
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut read)).await;
    let _reset_is_closed_too = ended.expect("never closed").is_err();
    (
        kernel::clock::now() - began,
        String::from_utf8_lossy(&read).into_owned(),
    )
}

/// That something ended when its time was over, as its peer saw it.
#[track_caller]
fn assert_took(time: Duration, took: Duration) {
    assert!(
        took >= time - EARLY && took < time + LATE,
        "{took:?} instead of {time:?}"
    );
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = kernel::clock::now();
    while !holds() {
        assert!(
            kernel::clock::now() - began < Duration::from_secs(5),
            "{what}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
