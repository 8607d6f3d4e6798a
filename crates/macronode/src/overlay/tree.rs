//! The overlay's children: its doors, and who writes down events and renews certificates.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use front_door::{DoorSettings, serve};
use kernel::blocking::Blocking;
use kernel::drain::Phase;
use kernel::reference::Tables;
use kernel::serve::Door;
use kernel::tree::{Child, ChildSpec, Context, Failure, Restart};
use tokio::time::MissedTickBehavior;

use super::front::Front;
use super::{Overlay, journal, metrics};

/// The plain door.
pub(crate) static HTTP: ChildSpec = door("overlay.http", "the overlay's plain HTTP door");
/// The TLS door.
pub(crate) static TLS: ChildSpec = door("overlay.tls", "the overlay's TLS door");
/// The events.
pub(crate) static EVENTS: ChildSpec = ChildSpec {
    name: "overlay.events",
    doc: "writes down kernel events for the overlay's streams; renews its certificates",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::Always,
    essential: false,
};

/// The node serves without it, and is watched through it while it drains.
const fn door(name: &'static str, doc: &'static str) -> ChildSpec {
    ChildSpec {
        name,
        doc,
        depends_on: &["overlay.events"],
        phase: Phase::Support,
        restart: Restart::Always,
        essential: false,
    }
}

/// Its part of the reference.
pub(crate) static TABLES: Tables = Tables {
    queues: &[&journal::LATEST],
    tasks: &[],
    locks: &[&journal::JOURNAL],
    metrics: &metrics::ALL,
};

/// How often certificates are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// The overlay's children, for the doors that are open.
pub(crate) fn children(
    overlay: &Arc<Overlay>,
    plain: Option<&Arc<Door>>,
    secure: Option<&Arc<Door>>,
) -> Vec<Child> {
    let keeper = overlay.clone();
    let events = Child::new(&EVENTS, move |context| keep(context, keeper.clone()));
    let plain = plain.map(|door| open(overlay, door, &HTTP, |front| front.plain.clone()));
    let secure = secure.map(|door| open(overlay, door, &TLS, |front| front.secure.clone()));
    [Some(events), plain, secure]
        .into_iter()
        .flatten()
        .collect()
}

fn open(
    overlay: &Arc<Overlay>,
    door: &Arc<Door>,
    spec: &'static ChildSpec,
    settings: fn(&Front) -> Arc<DoorSettings>,
) -> Child {
    let (overlay, door) = (overlay.clone(), door.clone());
    Child::new(spec, move |context| {
        let (asked, service) = (overlay.clone(), overlay.clone());
        let settings = move || settings(&asked.front.load());
        serve(context, door.clone(), settings, service)
    })
}

async fn keep(context: Context, overlay: Arc<Overlay>) -> Result<(), Failure> {
    let mut events = context.kernel.bus.subscribe(EVENTS.name);
    let disk = Blocking::new(&context.kernel.registry);
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stamps = None;
    context.ready.ready();
    loop {
        tokio::select! {
            () = context.told_to_end() => return Ok(()),
            notice = events.next() => overlay.journal.note(notice),
            _ = looks.tick() => look(&overlay, &disk, &mut stamps).await,
        }
    }
}

/// Has the certificates read again if a file of theirs was written to. What cannot be used changes nothing.
async fn look(overlay: &Arc<Overlay>, disk: &Blocking, stamps: &mut Option<Vec<SystemTime>>) {
    let Some(tls) = overlay.front.load().text.tls.clone() else {
        return;
    };
    let Ok(now) = disk.run(move || tls.stamps()).await else {
        return;
    };
    let before = stamps.replace(now);
    if before.is_none() || before == *stamps {
        return;
    }
    let front = overlay.front.clone();
    match disk.run(move || front.renew()).await {
        Ok(Ok(())) => tracing::info!("the overlay's certificates are renewed"),
        Ok(Err(error)) => tracing::error!(error, "the overlay keeps its certificates"),
        Err(_) => tracing::warn!("the disk is too busy to read certificates"),
    }
}
