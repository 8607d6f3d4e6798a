//! Doors over real sockets. Each test has a house of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use kernel::Kernel;
use kernel::drain::{Outcome, Phase, Plan};
use kernel::readiness::State;
use kernel::serve::{Door, IO_TIMEOUTS};
use kernel::supervisor::Supervisor;
use kernel::tree::{Child, ChildSpec, Restart};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{DoorSettings, Timeouts, serve};
use host::Host;

mod h1;
mod h1_answers;
mod h2;
mod host;
mod life;
mod proxied;
mod sealed;
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

/// For answers so large that a slow machine takes a while over them.
fn patient() -> DoorSettings {
    DoorSettings {
        timeouts: Timeouts {
            write: Duration::from_secs(30),
            ..QUICK
        },
        ..quick()
    }
}

/// A door with a tree of its own behind it.
struct Opened {
    kernel: Kernel,
    address: SocketAddr,
    running: tokio::task::JoinHandle<Outcome>,
}

/// Opens a door for a service, and waits until it is.
async fn open_door<S: crate::Service>(
    settings: impl Fn() -> Arc<DoorSettings> + Clone + Send + Sync + 'static,
    service: Arc<S>,
) -> Opened {
    let door = Door::bind("door", "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = door.address();
    let child = Child::new(&SPEC, move |context| {
        serve(context, door.clone(), settings.clone(), service.clone())
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
    Opened {
        kernel,
        address,
        running,
    }
}

impl House {
    async fn open(settings: DoorSettings) -> Self {
        let fixed = arc_swap::ArcSwap::from_pointee(settings);
        Self::open_live(Arc::new(fixed)).await
    }

    async fn open_live(settings: Arc<arc_swap::ArcSwap<DoorSettings>>) -> Self {
        let host = Arc::new(Host::default());
        let opened = open_door(move || settings.load_full(), host.clone()).await;
        Self {
            kernel: opened.kernel,
            address: opened.address,
            host,
            running: opened.running,
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
