//! A transport with two services, from its start to its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use kernel::Kernel;
use kernel::drain::{Outcome, Plan};
use kernel::readiness::State;
use kernel::serve::Door;
use kernel::supervisor::Supervisor;
use oap::app_proto;
use svc_transport::config::TransportText;
use svc_transport::{
    Ask, BrokenOff, Echo, Handler, Opcode, Outflow, Refusal, Reply, Services, Transport, tree,
};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The opcode space of [`Probe`].
pub(crate) const PROBE: u16 = 40;
/// Waits until the test lets it go, then answers with how often it was tried.
pub(crate) const WAIT: u16 = 1;
/// The same, and may not be done twice.
pub(crate) const WAIT_ONCE: u16 = 2;
/// Answers with a stream of as many bytes as the request says.
pub(crate) const MANY: u16 = 3;
/// Answers with the number of bytes it was sent.
pub(crate) const COUNT: u16 = 4;
/// Panics.
pub(crate) const PANIC: u16 = 5;
/// Never reads what it is sent, and answers when the test lets it.
pub(crate) const DEAF: u16 = 6;
/// A stream that breaks off.
pub(crate) const BREAK: u16 = 7;
/// Says which credential it was shown.
pub(crate) const WHO: u16 = 8;

const fn opcode(code: u16, name: &'static str, idempotent: bool) -> Opcode {
    Opcode {
        code,
        name,
        inflight: 1_000,
        waiting: 0,
        deadline: Duration::from_secs(60),
        idempotent,
    }
}

static OPCODES: [Opcode; 8] = [
    opcode(WAIT, "wait", true),
    opcode(WAIT_ONCE, "wait-once", false),
    opcode(MANY, "many", true),
    opcode(COUNT, "count", true),
    opcode(PANIC, "panic", true),
    opcode(DEAF, "deaf", true),
    opcode(BREAK, "break", true),
    opcode(WHO, "who", true),
];

/// A service that does what tests want to see.
pub(crate) struct Probe {
    /// Requests that are being answered.
    pub(crate) live: AtomicUsize,
    /// Requests that were begun.
    pub(crate) tried: AtomicUsize,
    /// Lets those go that wait.
    pub(crate) gate: Semaphore,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            live: AtomicUsize::new(0),
            tried: AtomicUsize::new(0),
            gate: Semaphore::new(0),
        }
    }
}

struct Live<'a>(&'a AtomicUsize);

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Handler for Probe {
    fn opcodes(&self) -> &'static [Opcode] {
        &OPCODES
    }

    fn handle<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Reply, Refusal>> {
        async move {
            self.live.fetch_add(1, Ordering::SeqCst);
            let _live = Live(&self.live);
            let tried = self.tried.fetch_add(1, Ordering::SeqCst) + 1;
            match ask.opcode {
                MANY => Ok(many(ask.whole().unwrap())),
                COUNT => count(ask).await,
                PANIC => panic!("bad service"),
                BREAK => Ok(breaking()),
                WHO => Ok(Reply::whole(200, ask.token.clone().unwrap_or_default())),
                _ => {
                    self.gate.acquire().await.unwrap().forget();
                    Ok(Reply::whole(200, tried.to_string().into()))
                }
            }
        }
        .boxed()
    }
}

fn many(wanted: &Bytes) -> Reply {
    let wanted: usize = std::str::from_utf8(wanted).unwrap().parse().unwrap();
    let piece = Bytes::from(vec![b'x'; 100_000]);
    let pieces = (0..wanted.div_ceil(piece.len())).map(move |index| {
        let left = wanted - index * piece.len();
        Ok(piece.slice(..left.min(piece.len())))
    });
    Reply {
        status: 200,
        head: Bytes::new(),
        body: Outflow::Stream(futures_util::stream::iter(pieces).boxed()),
    }
}

async fn count(ask: &Ask) -> Result<Reply, Refusal> {
    let (mut body, mut bytes) = (ask.body(), 0);
    while let Some(piece) = body.next().await {
        bytes += piece?.len();
    }
    Ok(Reply::whole(200, bytes.to_string().into()))
}

fn breaking() -> Reply {
    let broken = BrokenOff {
        status: 502,
        reason: "broken-off",
    };
    let pieces = [Ok(Bytes::from_static(b"some")), Err(broken)];
    Reply {
        status: 200,
        head: Bytes::new(),
        body: Outflow::Stream(futures_util::stream::iter(pieces).boxed()),
    }
}

/// A transport that runs.
pub(crate) struct House {
    pub(crate) kernel: Kernel,
    pub(crate) address: SocketAddr,
    pub(crate) probe: Arc<Probe>,
    pub(crate) transport: Arc<Transport>,
    running: JoinHandle<Outcome>,
}

impl House {
    pub(crate) async fn open(text: TransportText) -> Self {
        let (kernel, publisher) = Kernel::new();
        let probe = Arc::new(Probe::default());
        let echo: Arc<dyn Handler> = Arc::new(Echo);
        let services: Services = [(app_proto::ECHO, echo), (PROBE, probe.clone() as _)].into();
        let transport = Transport::new(&kernel, &text, services).unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let door = Door::bind("transport.tcp", any).unwrap();
        let address = door.address();
        let children = tree::children(&transport, &text, &kernel, vec![door], Vec::new());
        let supervisor = Supervisor::new(kernel.clone(), publisher, children).unwrap();
        let plan = || Plan {
            accept_grace: Duration::ZERO,
            deadline: Duration::from_secs(30),
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "the supervisor is the root of its own tree"
        )]
        let running = tokio::spawn(supervisor.run(plan));
        let mut changes = kernel.readiness.changes();
        while kernel.readiness.snapshot().state != State::Ready {
            changes.changed().await.unwrap();
        }
        Self {
            kernel,
            address,
            probe,
            transport,
            running,
        }
    }

    /// Begins to drain.
    pub(crate) fn drain(&self) {
        self.kernel.requests.begin();
    }

    /// Waits for the end of a drain.
    pub(crate) async fn ended(self) -> Outcome {
        self.running.await.unwrap()
    }

    /// A value of `/metrics`, by its name and labels as they are written there; 0 when it is not there yet.
    pub(crate) fn metric(&self, series: &str) -> u64 {
        self.kernel.registry.sample();
        let text = self.kernel.registry.render();
        let line = text.lines().find(|line| line.starts_with(series));
        let value = line.and_then(|line| line.rsplit(' ').next());
        value.map_or(0, |value| value.parse::<f64>().unwrap() as u64)
    }

    /// How many requests wait for the test to let them go.
    pub(crate) fn live(&self) -> usize {
        self.probe.live.load(Ordering::SeqCst)
    }
}

/// Waits for something that happens soon, for as long as a busy machine may need.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..4_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain: {what}");
}
