//! The gateway's children: its doors, its upstreams, its workers, and who keeps its streams.

use std::sync::Arc;

use front_door::serve;
use kernel::Kernel;
use kernel::drain::Phase;
use kernel::metrics::Sampling;
use kernel::pool::{Pool, PoolSize};
use kernel::reference::Tables;
use kernel::serve::Door;
use kernel::tasks::{TaskGroup, TaskKind};
use kernel::tree::{Child, ChildSpec, Context, Failure, Restart};

use crate::config::{Dispatch, GatewayText};
use crate::dispatch::{self, POOL_UNITS, Sending};
use crate::gateway::Gateway;
use crate::metrics::UpstreamMetrics;
use crate::{keeper, kept, keys, ledger, metrics, slots, streams, tunnel};

/// Doors of each kind; the config allows no more.
pub const DOORS: usize = 4;

const fn door(name: &'static str, doc: &'static str) -> ChildSpec {
    ChildSpec {
        name,
        doc,
        depends_on: &["gateway.upstreams", "gateway.streams"],
        phase: Phase::Intake,
        restart: Restart::Always,
        essential: true,
    }
}

/// The plain doors.
pub static HTTP: [ChildSpec; DOORS] = [
    door("gateway.http", "the gateway's plain HTTP door"),
    door("gateway.http2", "its second plain door"),
    door("gateway.http3", "its third plain door"),
    door("gateway.http4", "its fourth plain door"),
];
/// The TLS doors.
pub static TLS: [ChildSpec; DOORS] = [
    door("gateway.tls", "the gateway's TLS door"),
    door("gateway.tls2", "its second TLS door"),
    door("gateway.tls3", "its third TLS door"),
    door("gateway.tls4", "its fourth TLS door"),
];
/// The upstreams.
pub static UPSTREAMS: ChildSpec = ChildSpec {
    name: "gateway.upstreams",
    doc: "resolves names, asks endpoints how they are, closes unused connections, renews certificates and keys",
    depends_on: &[],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: true,
};
/// The streams.
pub static STREAMS: ChildSpec = ChildSpec {
    name: "gateway.streams",
    doc: "keeps upgraded connections until they end, or the drain's deadline does",
    depends_on: &[],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: true,
};
/// The workers of `pool` mode.
pub static WORKERS: ChildSpec = ChildSpec {
    name: "gateway.workers",
    doc: "sends admitted requests on, in `pool` mode",
    depends_on: &["gateway.upstreams"],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: true,
};

/// The task that keeps a place whose work nobody waits for any more.
static LINGER: TaskKind = TaskKind {
    name: "gateway_linger",
    doc: "keeps the place of a request that was given up for as long as its upstream may still be busy with it",
};

pub use front_door::reference::TABLES as DOOR_TABLES;
pub use upstream::tables::UPSTREAM as UPSTREAM_TABLES;

/// Its part of the reference.
pub static TABLES: Tables = Tables {
    queues: &[&dispatch::WORK, &dispatch::WORK_AGAIN],
    tasks: &[&tunnel::TUNNEL, &LINGER, &keeper::UPSTREAM, &keys::FETCHER],
    locks: &[
        &metrics::NAMES,
        &keeper::STANDINGS,
        &keys::STATE,
        &slots::ADAPTIVE,
        &slots::PROMISES,
        &streams::STREAMS,
        &ledger::LEDGER,
        &dispatch::PARCEL,
        &kept::KEPT,
    ],
    metrics: &metrics::ALL,
};

/// The gateway's children, for the doors that are open.
pub fn children(
    gateway: &Arc<Gateway>,
    text: &GatewayText,
    kernel: &Kernel,
    plain: Vec<Arc<Door>>,
    secure: Vec<Arc<Door>>,
) -> Vec<Child> {
    let (upstreams, streams) = (gateway.clone(), gateway.clone());
    let mut children = vec![
        Child::new(&UPSTREAMS, move |context| {
            keeper::keep(context, upstreams.clone())
        }),
        Child::new(&STREAMS, move |context| {
            keep_streams(context, streams.clone())
        }),
    ];
    if text.dispatch == Dispatch::Pool {
        let size = PoolSize {
            workers: text.workers,
            units_per_worker: POOL_UNITS / text.workers,
        };
        let (pool, handle) = Pool::new(&dispatch::POOL, size, Sending, kernel);
        gateway.shared.employ(handle);
        let pool = Arc::new(pool);
        children.push(Child::new(&WORKERS, move |context| {
            let pool = pool.clone();
            async move { pool.run(context).await }
        }));
    }
    for (door, spec) in plain.into_iter().zip(&HTTP) {
        let gateway = gateway.clone();
        children.push(Child::new(spec, move |context| {
            let (settings, service) = (gateway.clone(), gateway.clone());
            serve(
                context,
                door.clone(),
                move || settings.plain_door(),
                service,
            )
        }));
    }
    for (door, spec) in secure.into_iter().zip(&TLS) {
        let gateway = gateway.clone();
        children.push(Child::new(spec, move |context| {
            let (settings, service) = (gateway.clone(), gateway.clone());
            serve(
                context,
                door.clone(),
                move || settings.secure_door(),
                service,
            )
        }));
    }
    sample(gateway, kernel);
    children
}

/// Values that are cheaper to read than to maintain.
fn sample(gateway: &Arc<Gateway>, kernel: &Kernel) {
    let gateway = Arc::downgrade(gateway);
    let classes = |spec| metrics::CLASSES.map(|class| kernel.registry.gauge(spec, &[class]));
    let (inflight, tokens) = (classes(&metrics::INFLIGHT), classes(&metrics::TOKENS));
    kernel.registry.sampled(move || {
        let Some(gateway) = gateway.upgrade() else {
            return Sampling::Over;
        };
        let mut sums = [(0, 0); metrics::CLASSES.len()];
        let plan = gateway.plan();
        let backends = plan.backends.iter();
        let views: Vec<_> = backends
            .map(|backend| (&backend.metrics, backend.body.slots.snapshot(0)))
            .collect();
        let gauges = views.iter();
        UpstreamMetrics::set(
            gauges.map(|(gauges, view)| (*gauges, view.limit as i64, view.waiting as i64)),
        );
        for (_, view) in &views {
            for (sum, class) in sums.iter_mut().zip(&view.classes) {
                sum.0 += class.inflight as i64;
                sum.1 += class.tokens;
            }
        }
        for (index, (running, left)) in sums.into_iter().enumerate() {
            inflight[index].set(running);
            tokens[index].set(left);
        }
        Sampling::Continue
    });
}

/// Tunnels, which end when this is dropped.
struct Tunnels(TaskGroup);

impl Drop for Tunnels {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Keeps tunnels until they end by themselves; at the drain's deadline they end with this child.
async fn keep_streams(context: Context, gateway: Arc<Gateway>) -> Result<(), Failure> {
    let tunnels = Tunnels(TaskGroup::new(&context.kernel.registry));
    let shared = &gateway.shared;
    shared.keep_tunnels(Some(tunnels.0.kind(&tunnel::TUNNEL)));
    shared.keep_lingering(Some(tunnels.0.kind(&LINGER)));
    context.ready.ready();
    context.told_to_end().await;
    shared.keep_tunnels(None);
    shared.keep_lingering(None);
    tunnels.0.idle().await;
    Ok(())
}
