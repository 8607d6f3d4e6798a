//! The transport's children: its doors, its workers, and who renews its certificates.

use std::sync::Arc;
use std::time::Duration;

use kernel::Kernel;
use kernel::blocking::Blocking;
use kernel::drain::Phase;
use kernel::pool::{Pool, PoolSize};
use kernel::reference::Tables;
use kernel::serve::Door;
use kernel::tree::{Child, ChildSpec, Context, Failure, Restart};

use crate::body::inflow;
use crate::config::TransportText;
use crate::entrance::{self, Which};
use crate::transport::Transport;
use crate::work::Serving;
use crate::{metrics, queues};

/// Doors of each kind; the config allows no more.
pub const DOORS: usize = 4;

const fn door(name: &'static str, doc: &'static str) -> ChildSpec {
    ChildSpec {
        name,
        doc,
        depends_on: &["transport.workers"],
        phase: Phase::Intake,
        restart: Restart::Always,
        essential: true,
    }
}

/// The plain doors.
pub static TCP: [ChildSpec; DOORS] = [
    door("transport.tcp", "the transport's plain door"),
    door("transport.tcp2", "its second plain door"),
    door("transport.tcp3", "its third plain door"),
    door("transport.tcp4", "its fourth plain door"),
];
/// The TLS doors.
pub static TLS: [ChildSpec; DOORS] = [
    door("transport.tls", "the transport's TLS door"),
    door("transport.tls2", "its second TLS door"),
    door("transport.tls3", "its third TLS door"),
    door("transport.tls4", "its fourth TLS door"),
];
/// The workers.
pub static WORKERS: ChildSpec = ChildSpec {
    name: "transport.workers",
    doc: "lets services answer framed requests",
    depends_on: &[],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: true,
};
/// Who renews certificates.
pub static CERTIFICATES: ChildSpec = ChildSpec {
    name: "transport.certificates",
    doc: "renews the certificates of the transport's TLS doors when their files change",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::Always,
    essential: false,
};

/// Its part of the reference.
pub static TABLES: Tables = Tables {
    queues: &[&queues::WORK, &queues::WORK_AGAIN],
    tasks: &[],
    locks: &[&inflow::INFLOW],
    metrics: &metrics::ALL,
};

/// How often certificates are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The transport's children, for the doors that are open.
pub fn children(
    transport: &Arc<Transport>,
    text: &TransportText,
    kernel: &Kernel,
    plain: Vec<Arc<Door>>,
    secure: Vec<Arc<Door>>,
) -> Vec<Child> {
    let size = PoolSize {
        workers: text.workers,
        units_per_worker: text.units_per_worker,
    };
    let (pool, handle) = Pool::new(&queues::POOL, size, Serving, kernel);
    transport.employ(handle);
    let pool = Arc::new(pool);
    let mut children = vec![Child::new(&WORKERS, move |context| {
        let pool = pool.clone();
        async move { pool.run(context).await }
    })];
    if text.tls.is_some() {
        let (transport, disk) = (transport.clone(), Blocking::new(&kernel.registry));
        children.push(Child::new(&CERTIFICATES, move |context| {
            renew(context, transport.clone(), disk.clone())
        }));
    }
    let doors = plain.into_iter().zip(&TCP);
    children.extend(doors.map(|(door, spec)| open(transport, door, spec, |plan| &plan.plain)));
    let doors = secure.into_iter().zip(&TLS);
    children.extend(doors.map(|(door, spec)| open(transport, door, spec, |plan| &plan.secure)));
    children
}

fn open(
    transport: &Arc<Transport>,
    door: Arc<Door>,
    spec: &'static ChildSpec,
    which: Which,
) -> Child {
    let transport = transport.clone();
    Child::new(spec, move |context| {
        entrance::serve(context, door.clone(), transport.clone(), which)
    })
}

/// Looks at the files of the certificates, and takes over what has changed. What cannot be used changes nothing.
async fn renew(context: Context, transport: Arc<Transport>, disk: Blocking) -> Result<(), Failure> {
    context.ready.ready();
    let mut known = None;
    loop {
        tokio::select! {
            () = context.told_to_end() => return Ok(()),
            () = tokio::time::sleep(LOOK) => {}
        }
        let looking = transport.clone();
        let Ok(now) = disk.run(move || looking.certificate_stamps()).await else {
            continue;
        };
        let before = known.replace(now);
        if before.is_none() || before == known {
            continue;
        }
        let reading = transport.clone();
        match disk.run(move || reading.renew_certificates()).await {
            Ok(Ok(())) => tracing::info!("the transport's certificates are renewed"),
            Ok(Err(error)) => tracing::error!(error, "the transport keeps its certificates"),
            Err(_) => tracing::warn!("the disk is too busy to read certificates"),
        }
    }
}
