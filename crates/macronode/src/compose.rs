//! From a config to a tree that only has to be run: services made, reloads wired, children gathered.

use std::fmt::Display;
use std::sync::Arc;

use kernel::Kernel;
use kernel::config::{Live, Prepare, ReloadRequests, Reloader, Source, reload_requests, together};
use kernel::shutdown::StagePublisher;
use kernel::supervisor::Supervisor;
use kernel::tree::Child;
use strict_config::Loaded;
use svc_edge::Edge;
use svc_gateway::Gateway;
use svc_transport::Transport;

use crate::bridge;
use crate::cli::BuiltIn;
use crate::config::{NodeText, Settings};
use crate::demo;
use crate::doors::Doors;
use crate::files::FileLimits;
use crate::handover::{FOUND, Handover};
use crate::overlay::LiveFront;
use crate::tree::{self, Parts};

/// What has to be there before.
pub(crate) struct Material {
    /// What all children share.
    pub(crate) kernel: Kernel,
    /// Goes to the supervisor.
    pub(crate) publisher: StagePublisher,
    /// The bound listeners.
    pub(crate) doors: Doors,
    /// The demonstration's pack.
    pub(crate) world: demo::world::World,
    /// Children that telemetry brings.
    pub(crate) exporters: Vec<Child>,
    /// What a reload does to the log.
    pub(crate) level: Prepare<Settings>,
}

/// A node that has not begun.
pub(crate) struct Composed {
    /// Runs it.
    pub(crate) supervisor: Supervisor,
    /// The config in force.
    pub(crate) live: Live<Settings>,
    /// Asks for a reload.
    pub(crate) reload: ReloadRequests,
    /// The way to a successor.
    pub(crate) handover: Handover,
}

/// Makes a node of a config and where it comes from: its source, what is set over it, which built-in one it is.
pub(crate) fn compose(
    (source, sets, shows): (Source, Vec<String>, BuiltIn),
    loaded: Loaded<NodeText>,
    material: Material,
) -> Result<Composed, String> {
    let Material {
        kernel,
        publisher,
        doors,
        world,
        exporters,
        level,
    } = material;
    let text = loaded.text.clone();
    let origin = demo::origin::Placement::of(doors.origin.as_deref());
    let gateway = text.gateway.as_ref();
    let gateway = gateway.map(|text| Gateway::new(&kernel, &origin.placed(text)));
    let gateway = of("gateway", gateway.transpose())?;
    if let (Some(gateway), Ok(found)) = (&gateway, std::env::var(FOUND)) {
        gateway.go_on_from(&found);
    }
    let files = FileLimits::read().map_or(1024, |limits| limits.soft);
    let edge = text.edge.as_ref();
    let edge = edge.map(|text| Edge::new(&kernel, &world.placed(text), files));
    let edge = of("edge", edge.transpose())?;
    let transport = text.transport.as_ref();
    let transport = transport.map(|text| {
        let services = bridge::services(text, gateway.as_ref());
        Transport::new(&kernel, text, services)
    });
    let transport = of("transport", transport.transpose())?;
    let overlay = text.overlay.as_ref().map(LiveFront::new);
    let overlay = of("overlay", overlay.transpose())?;
    let prepare = together(vec![
        level,
        of_gateway(gateway.clone(), origin),
        of_edge(edge.clone(), world),
        of_transport(transport.clone()),
        of_overlay(overlay.clone()),
    ]);
    let (reloader, live) =
        Reloader::new(&kernel, (source, sets), loaded, |text| text.into(), prepare);
    let (reload, updates) = reload_requests(&kernel);
    let handover = Handover::new(&doors, gateway.clone());
    let parts = Parts {
        kernel: kernel.clone(),
        live: live.clone(),
        reloader,
        reload: reload.clone(),
        updates,
        doors,
        gateway,
        edge,
        transport,
        overlay,
        handover: handover.clone(),
        shows,
    };
    let mut children = tree::children(&text, &parts);
    children.extend(exporters);
    drop(parts);
    let supervisor =
        Supervisor::new(kernel, publisher, children).expect("the tree is checked by a test");
    Ok(Composed {
        supervisor,
        live,
        reload,
        handover,
    })
}

/// What a reload does to the gateway.
fn of_gateway(gateway: Option<Arc<Gateway>>, origin: demo::origin::Placement) -> Prepare<Settings> {
    Arc::new(move |settings| match (&gateway, &settings.gateway) {
        (Some(gateway), Some(text)) => of("gateway", gateway.prepare(&origin.placed(text))),
        _ => Ok(Box::new(|| {})),
    })
}

/// What a reload does to the edge.
fn of_edge(edge: Option<Arc<Edge>>, world: demo::world::World) -> Prepare<Settings> {
    Arc::new(move |settings| match (&edge, &settings.edge) {
        (Some(edge), Some(text)) => of("edge", edge.prepare(&world.placed(text))),
        _ => Ok(Box::new(|| {})),
    })
}

/// What a reload does to the transport.
fn of_transport(transport: Option<Arc<Transport>>) -> Prepare<Settings> {
    Arc::new(move |settings| match (&transport, &settings.transport) {
        (Some(transport), Some(text)) => of("transport", transport.prepare(text)),
        _ => Ok(Box::new(|| {})),
    })
}

/// What a reload does to the overlay.
fn of_overlay(overlay: Option<LiveFront>) -> Prepare<Settings> {
    Arc::new(move |settings| match (&overlay, &settings.overlay) {
        (Some(overlay), Some(text)) => of("overlay", overlay.prepare(text)),
        _ => Ok(Box::new(|| {})),
    })
}

/// Says whose it is that went wrong.
fn of<T, E: Display>(service: &str, made: Result<T, E>) -> Result<T, String> {
    made.map_err(|error| format!("{service}: {error}"))
}
