//! The edge's children: its doors, and who follows its packs.

use std::sync::Arc;

use front_door::{DoorSettings, serve};
use kernel::Kernel;
use kernel::drain::Phase;
use kernel::metrics::Sampling;
use kernel::pool::Pool;
use kernel::reference::Tables;
use kernel::serve::Door;
use kernel::tree::{Child, ChildSpec, Restart};

use crate::edge::Edge;
use crate::flight::{self, Filling};
use crate::{metrics, origin, packs, seals};

/// Doors of each kind; the config allows no more.
pub const DOORS: usize = 4;

const fn door(name: &'static str, doc: &'static str) -> ChildSpec {
    ChildSpec {
        name,
        doc,
        depends_on: &["edge.packs", "edge.origins", "edge.fills"],
        phase: Phase::Intake,
        restart: Restart::Always,
        essential: true,
    }
}

/// The plain doors.
pub static HTTP: [ChildSpec; DOORS] = [
    door("edge.http", "the edge's plain HTTP door"),
    door("edge.http2", "its second plain door"),
    door("edge.http3", "its third plain door"),
    door("edge.http4", "its fourth plain door"),
];
/// The TLS doors.
pub static TLS: [ChildSpec; DOORS] = [
    door("edge.tls", "the edge's TLS door"),
    door("edge.tls2", "its second TLS door"),
    door("edge.tls3", "its third TLS door"),
    door("edge.tls4", "its fourth TLS door"),
];
/// The packs.
pub static PACKS: ChildSpec = ChildSpec {
    name: "edge.packs",
    doc: "mounts packs as files come, replaces them as they change, lets go of them as they go; renews certificates",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::Always,
    essential: true,
};

/// The origins.
pub static ORIGINS: ChildSpec = ChildSpec {
    name: "edge.origins",
    doc: "resolves the names of origins, closes unused connections",
    depends_on: &[],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: true,
};
/// The workers that fetch.
pub static FILLS: ChildSpec = ChildSpec {
    name: "edge.fills",
    doc: "fetches from origins what is not kept, once for all who wait",
    depends_on: &["edge.origins"],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: true,
};

/// Who carries answers to the bucket.
pub static BUCKET: ChildSpec = ChildSpec {
    name: "edge.bucket",
    doc: "puts answers of origins into the bucket behind the store, and removes what is forgotten there",
    depends_on: &[],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: false,
};

/// Who seals what is hit.
pub static SEALS: ChildSpec = ChildSpec {
    name: "edge.seals",
    doc: "puts large answers that are hit where the system can send them by itself",
    depends_on: &[],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: false,
};

/// Its part of the reference.
pub static TABLES: Tables = Tables {
    queues: &[
        &flight::FILLS,
        &flight::FILLS_AGAIN,
        &origin::depot::ERRANDS,
        &seals::SEALS,
    ],
    tasks: &[&origin::keeper::ORIGIN],
    locks: &[
        &origin::kept::KEPT,
        &flight::FLIGHTS,
        &flight::FLIGHT,
        &flight::TICKET,
        &origin::depot::LEAVING,
    ],
    metrics: &metrics::ALL,
};
/// The part of its origins.
pub static ORIGIN_TABLES: Tables = Tables {
    queues: &[],
    tasks: &[],
    locks: &[],
    metrics: &origin::metrics::ALL,
};

/// The edge's children, for the doors that are open.
pub fn children(
    edge: &Arc<Edge>,
    kernel: &Kernel,
    plain: Vec<Arc<Door>>,
    secure: Vec<Arc<Door>>,
) -> Vec<Child> {
    let keeper = edge.clone();
    let mut children = vec![Child::new(&PACKS, move |context| {
        packs::keep(context, keeper.clone())
    })];
    let origins = edge.shared.origins.clone();
    children.push(Child::new(&ORIGINS, move |context| {
        origin::keeper::keep(context, origins.clone())
    }));
    let (pool, handle) = Pool::new(&flight::POOL, flight::POOL_SIZE, Filling, kernel);
    edge.shared.origins.employ(handle);
    let pool = Arc::new(pool);
    children.push(Child::new(&FILLS, move |context| {
        let pool = pool.clone();
        async move { pool.run(context).await }
    }));
    let desk = edge.shared.origins.desk.clone();
    if let Some(depot) = desk.depot.clone() {
        children.push(Child::new(&BUCKET, move |context| {
            origin::depot::run(context, desk.clone(), depot.clone())
        }));
    }
    let shared = edge.shared.clone();
    children.push(Child::new(&SEALS, move |context| {
        seals::run(context, shared.clone())
    }));
    let plain = plain.into_iter().zip(&HTTP);
    children.extend(plain.map(|(door, spec)| open(edge, door, spec, Edge::plain_door)));
    let secure = secure.into_iter().zip(&TLS);
    children.extend(secure.map(|(door, spec)| open(edge, door, spec, Edge::secure_door)));
    sample(edge, kernel);
    children
}

fn open(
    edge: &Arc<Edge>,
    door: Arc<Door>,
    spec: &'static ChildSpec,
    settings: fn(&Edge) -> Arc<DoorSettings>,
) -> Child {
    let edge = edge.clone();
    Child::new(spec, move |context| {
        let (asked, service) = (edge.clone(), edge.clone());
        serve(context, door.clone(), move || settings(&asked), service)
    })
}

/// Values that are cheaper to read than to maintain.
fn sample(edge: &Arc<Edge>, kernel: &Kernel) {
    let edge = Arc::downgrade(edge);
    let gauge = |spec| kernel.registry.gauge(spec, &[]);
    let (bytes, items) = (gauge(&metrics::MEMORY_BYTES), gauge(&metrics::MEMORY_ITEMS));
    let (stored, objects) = (gauge(&metrics::STORE_BYTES), gauge(&metrics::STORE_OBJECTS));
    let inflight = gauge(&metrics::INFLIGHT);
    let event = |event| kernel.registry.counter(&metrics::STORE_EVENTS, &[event]);
    let events = ["written", "evicted", "damaged", "unreadable", "failed"].map(event);
    kernel.registry.sampled(move || {
        let Some(edge) = edge.upgrade() else {
            return Sampling::Over;
        };
        bytes.set(edge.shared.memory.bytes() as i64);
        items.set(edge.shared.memory.count() as i64);
        inflight.set(i64::from(edge.shared.inflight()));
        let stats = edge.shared.store.stats();
        stored.set(stats.bytes as i64);
        objects.set(stats.objects as i64);
        let happened = [
            stats.committed,
            stats.evicted,
            stats.corrupt,
            stats.unreadable,
            stats.failed,
        ];
        for (counter, now) in events.iter().zip(happened) {
            counter.inc_by(now.saturating_sub(counter.get()));
        }
        Sampling::Continue
    });
}
