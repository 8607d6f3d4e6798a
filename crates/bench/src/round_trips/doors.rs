//! A node of two doors and nothing behind them but a handler that gives back what it is sent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use front_door::{DoorSettings, Fault, InPlace, Service, Visit};
use http::{Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kernel::Kernel;
use kernel::drain::{Phase, Plan};
use kernel::serve::Door;
use kernel::supervisor::Supervisor;
use kernel::tree::{Child, ChildSpec, Restart};
use oap::app_proto;
use svc_transport::config::TransportText;
use svc_transport::{Ask, Echo, Handler, Opcode, Refusal, Reply, Services, Transport, tree};
use testkit::process::{Port, Process, Program};

use crate::cores::{self, Rank};
use crate::load::wire;
use crate::peers::{OTHER_CORE, SERVER_CORE, cpu_time};
use crate::stand::reserve;

/// Where the same is done by a worker, whether it takes time or not.
pub(super) const BY_WORKER: u16 = app_proto::FREE;

/// Where the two doors are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// For HTTP.
    pub http: SocketAddr,
    /// For frames.
    pub frames: SocketAddr,
}

/// The node, in a process on a core of its own.
pub(super) struct House {
    pub(super) http: SocketAddr,
    pub(super) frames: SocketAddr,
    process: Process,
    _ports: [Port; 2],
}

impl House {
    /// Starts this very program as the node, and keeps to the next core.
    pub(super) fn start() -> Result<Self, String> {
        cores::go_first(Rank::Load);
        cores::pin(OTHER_CORE);
        let ports = [reserve()?, reserve()?];
        let (http, frames) = (ports[0].addr(), ports[1].addr());
        let odd = |error: &dyn std::fmt::Display| format!("the node does not start: {error}");
        let program = std::env::current_exe().map_err(|error| odd(&error))?;
        let program = Program::new(program).map_err(|error| odd(&error))?;
        let program = program.arg("doors").arg(format!("--http={http}"));
        let started = program.arg(format!("--frames={frames}")).start();
        let house = Self {
            http,
            frames,
            process: started.map_err(|error| odd(&error))?,
            _ports: ports,
        };
        for _ in 0..500 {
            let is_open = std::net::TcpStream::connect(frames).is_ok();
            if is_open && wire::ask(http, "/").is_ok() {
                return Ok(house);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(odd(&"it does not answer"))
    }

    pub(super) fn cpu_time(&self) -> Duration {
        cpu_time(self.process.pid())
    }
}

/// Serves until the process is killed.
pub fn serve(settings: Settings) -> Result<(), String> {
    cores::follow_parent();
    cores::pin(SERVER_CORE);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let (kernel, publisher) = Kernel::new();
        let children = children(&kernel, settings)?;
        let supervisor = Supervisor::new(kernel, publisher, children);
        let supervisor = supervisor.map_err(|error| error.to_string())?;
        let plan = || Plan {
            accept_grace: Duration::ZERO,
            deadline: Duration::ZERO,
        };
        supervisor.run(plan).await;
        Ok(())
    })
}

static HTTP: ChildSpec = ChildSpec {
    name: "bench.http",
    doc: "the door for HTTP",
    depends_on: &[],
    phase: Phase::Intake,
    restart: Restart::Always,
    essential: true,
};

fn children(kernel: &Kernel, settings: Settings) -> Result<Vec<Child>, String> {
    let open =
        |name, address| Door::bind(name, address).map_err(|error| format!("{name}: {error}"));
    let text = TransportText::default();
    let services: Services = [
        (app_proto::ECHO, Arc::new(Echo) as Arc<dyn Handler>),
        (BY_WORKER, Arc::new(ByWorker)),
    ]
    .into();
    let transport = Transport::new(kernel, &text, services)?;
    let frames = open("transport.tcp", settings.frames)?;
    let mut children = tree::children(&transport, &text, kernel, vec![frames], Vec::new());
    let http = open(HTTP.name, settings.http)?;
    let bounds = Arc::new(DoorSettings::default());
    children.push(Child::new(&HTTP, move |context| {
        let bounds = bounds.clone();
        front_door::serve(
            context,
            http.clone(),
            move || bounds.clone(),
            Arc::new(OverHttp),
        )
    }));
    Ok(children)
}

/// The echo, over HTTP.
struct OverHttp;

impl Service for OverHttp {
    type Body = Full<Bytes>;

    async fn call(&self, request: InPlace<'_>, _visit: &Visit) -> Response<Full<Bytes>> {
        match request.take().into_body().collect().await {
            Ok(body) => Response::new(Full::new(body.to_bytes())),
            Err(_) => refused(StatusCode::BAD_REQUEST).map(Full::new),
        }
    }

    fn refuse(&self, _fault: Fault, _visit: &Visit) -> Response<Bytes> {
        refused(StatusCode::BAD_REQUEST)
    }
}

fn refused(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

/// The echo, as a service that cannot answer at once.
struct ByWorker;

impl Handler for ByWorker {
    fn opcodes(&self) -> &'static [Opcode] {
        Echo.opcodes()
    }

    fn handle<'a>(
        &'a self,
        ask: &'a Ask,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Reply, Refusal>> + Send + 'a>> {
        Echo.handle(ask)
    }
}
