//! The edge's children: its doors, and who follows its packs.

use std::sync::Arc;

use front_door::serve;
use kernel::Kernel;
use kernel::drain::Phase;
use kernel::metrics::Sampling;
use kernel::reference::Tables;
use kernel::serve::Door;
use kernel::tree::{Child, ChildSpec, Restart};

use crate::edge::Edge;
use crate::{metrics, packs};

/// Doors of each kind; the config allows no more.
pub const DOORS: usize = 4;

const fn door(name: &'static str, doc: &'static str) -> ChildSpec {
    ChildSpec {
        name,
        doc,
        depends_on: &["edge.packs"],
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
/// The packs.
pub static PACKS: ChildSpec = ChildSpec {
    name: "edge.packs",
    doc: "mounts packs as their files come, replaces them as they change, lets go of them as they go",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::Always,
    essential: true,
};

/// Its part of the reference.
pub static TABLES: Tables = Tables {
    queues: &[],
    tasks: &[],
    locks: &[],
    metrics: &metrics::ALL,
};

/// The edge's children, for the doors that are open.
pub fn children(edge: &Arc<Edge>, kernel: &Kernel, plain: Vec<Arc<Door>>) -> Vec<Child> {
    let keeper = edge.clone();
    let mut children = vec![Child::new(&PACKS, move |context| {
        packs::keep(context, keeper.clone())
    })];
    for (door, spec) in plain.into_iter().zip(&HTTP) {
        let edge = edge.clone();
        children.push(Child::new(spec, move |context| {
            let (settings, service) = (edge.clone(), edge.clone());
            serve(
                context,
                door.clone(),
                move || settings.plain_door(),
                service,
            )
        }));
    }
    sample(edge, kernel);
    children
}

/// Values that are cheaper to read than to maintain.
fn sample(edge: &Arc<Edge>, kernel: &Kernel) {
    let edge = Arc::downgrade(edge);
    let registry = &kernel.registry;
    let bytes = registry.gauge(&metrics::MEMORY_BYTES, &[]);
    let items = registry.gauge(&metrics::MEMORY_ITEMS, &[]);
    let inflight = registry.gauge(&metrics::INFLIGHT, &[]);
    registry.sampled(move || {
        let Some(edge) = edge.upgrade() else {
            return Sampling::Over;
        };
        bytes.set(edge.shared.memory.bytes() as i64);
        items.set(edge.shared.memory.count() as i64);
        inflight.set(i64::from(edge.shared.inflight()));
        Sampling::Continue
    });
}
