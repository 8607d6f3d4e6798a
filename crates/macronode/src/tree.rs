//! The composition root: every child of the node, in one place, in the order they depend on each other.

use std::sync::Arc;

use kernel::Kernel;
use kernel::admin::{Admin, Doing, Fact, Identity};
use kernel::blocking::Blocking;
use kernel::config::{Live, ReloadRequests, Reloader};
use kernel::drain::Phase;
use kernel::queue::Receiver;
use kernel::serve::serve;
use kernel::tree::{Child, ChildSpec, Restart};
use serde_json::json;
use svc_edge::{Edge, tree as edge};
use svc_gateway::Gateway;
use svc_gateway::tree as gateway;
use svc_transport::{Transport, tree as transport};

use crate::cli::BuiltIn;
use crate::config::{NodeText, Settings, door_limits};
use crate::doors::Doors;
use crate::handover::Handover;
use crate::overlay::{self, LiveFront, Overlay};
use crate::{amnesia, demo, reporter};

/// The admin server.
pub(crate) static ADMIN: ChildSpec = ChildSpec {
    name: "admin",
    doc: "metrics, health, readiness, status; last to end",
    depends_on: &[],
    phase: Phase::Admin,
    restart: Restart::Always,
    essential: true,
};
/// The config watcher.
pub(crate) static CONFIG: ChildSpec = ChildSpec {
    name: "config",
    doc: "reloads the config when its file changes, on SIGHUP, or when asked",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::Always,
    essential: false,
};

/// Every child this node may have, for the reference page.
pub(crate) static SPECS: [&ChildSpec; 47] = [
    &ADMIN,
    &CONFIG,
    &reporter::REPORTER,
    &kernel::telemetry::trace_specs::CHILD,
    &gateway::UPSTREAMS,
    &gateway::STREAMS,
    &gateway::WORKERS,
    &gateway::HTTP[0],
    &gateway::HTTP[1],
    &gateway::HTTP[2],
    &gateway::HTTP[3],
    &gateway::TLS[0],
    &gateway::TLS[1],
    &gateway::TLS[2],
    &gateway::TLS[3],
    &edge::PACKS,
    &edge::ORIGINS,
    &edge::FILLS,
    &edge::BUCKET,
    &edge::SEALS,
    &edge::HTTP[0],
    &edge::HTTP[1],
    &edge::HTTP[2],
    &edge::HTTP[3],
    &edge::TLS[0],
    &edge::TLS[1],
    &edge::TLS[2],
    &edge::TLS[3],
    &transport::WORKERS,
    &transport::CERTIFICATES,
    &transport::TCP[0],
    &transport::TCP[1],
    &transport::TCP[2],
    &transport::TCP[3],
    &transport::TLS[0],
    &transport::TLS[1],
    &transport::TLS[2],
    &transport::TLS[3],
    &overlay::tree::EVENTS,
    &overlay::tree::HTTP,
    &overlay::tree::TLS,
    &demo::WORKERS,
    &demo::DOOR,
    &demo::LOAD,
    &demo::FLAKY,
    &demo::origin::ORIGIN,
    &demo::crowd::CROWD,
];

/// What the children are made of.
pub(crate) struct Parts {
    /// What all children share.
    pub(crate) kernel: Kernel,
    /// The config in force.
    pub(crate) live: Live<Settings>,
    /// Who replaces it.
    pub(crate) reloader: Arc<Reloader<NodeText, Settings>>,
    /// Asks for a reload.
    pub(crate) reload: ReloadRequests,
    /// Where that is heard.
    pub(crate) updates: Receiver<()>,
    /// The bound listeners.
    pub(crate) doors: Doors,
    /// The gateway, if it is on.
    pub(crate) gateway: Option<Arc<Gateway>>,
    /// The edge, if it is on.
    pub(crate) edge: Option<Arc<Edge>>,
    /// The transport, if it is on.
    pub(crate) transport: Option<Arc<Transport>>,
    /// What reloads change of the overlay, if it is on.
    pub(crate) overlay: Option<LiveFront>,
    /// The way to a successor.
    pub(crate) handover: Handover,
    /// Whether this is the config of somebody who wants to look around.
    pub(crate) shows: BuiltIn,
}

/// The children that `text` switches on.
pub(crate) fn children(text: &NodeText, parts: &Parts) -> Vec<Child> {
    let mut children = vec![
        admin(text, parts),
        config(parts),
        reporter::child(text, parts),
    ];
    if let (Some(text), Some(gateway)) = (&text.gateway, &parts.gateway) {
        let (plain, secure) = (parts.doors.gateway.clone(), parts.doors.gateway_tls.clone());
        children.extend(svc_gateway::tree::children(
            gateway,
            text,
            &parts.kernel,
            plain,
            secure,
        ));
    }
    if let Some(edge) = &parts.edge {
        let (plain, secure) = (parts.doors.edge.clone(), parts.doors.edge_tls.clone());
        children.extend(edge::children(edge, &parts.kernel, plain, secure));
    }
    if let (Some(text), Some(transport)) = (&text.transport, &parts.transport) {
        let (plain, secure) = (
            parts.doors.transport.clone(),
            parts.doors.transport_tls.clone(),
        );
        children.extend(transport::children(
            transport,
            text,
            &parts.kernel,
            plain,
            secure,
        ));
    }
    if let Some(front) = &parts.overlay {
        let overlay = Overlay::new(front, parts);
        let (plain, secure) = (&parts.doors.overlay, &parts.doors.overlay_tls);
        let doors = (plain.as_ref(), secure.as_ref());
        children.extend(overlay::tree::children(&overlay, doors.0, doors.1));
    }
    if let (Some(demo), Some(door)) = (&text.demo, &parts.doors.demo) {
        children.extend(demo::children(
            demo,
            door.clone(),
            &parts.live,
            &parts.kernel,
        ));
    }
    children.extend(crowd(text, parts));
    children
}

/// The demonstration's origin, and its crowd where the gateway has a door for it.
fn crowd(text: &NodeText, parts: &Parts) -> Vec<Child> {
    let demo = text.demo.as_ref();
    let (Some(crowd), Some(origin)) = (
        demo.and_then(|demo| demo.crowd.as_ref()),
        &parts.doors.origin,
    ) else {
        return Vec::new();
    };
    let mut children = vec![demo::origin::child(crowd, origin)];
    if let (Some(gateway), Some(door)) = (&parts.gateway, parts.doors.gateway.first()) {
        children.push(demo::crowd::child(
            crowd,
            door.address(),
            &parts.live,
            gateway,
        ));
    }
    children
}

fn admin(text: &NodeText, parts: &Parts) -> Child {
    let identity = Identity {
        version: crate::VERSION,
        build: crate::BUILD,
    };
    let (live, reloader, doors) = (
        parts.live.clone(),
        parts.reloader.clone(),
        parts.doors.addresses(),
    );
    let forgets = text.amnesia;
    let token = Arc::new(move || live.load().token.clone());
    let facts = vec![
        Fact::new("config", move || reloader.status()),
        Fact::new("doors", move || doors.clone()),
        Fact::new("amnesia", move || amnesia::facts(forgets)),
    ];
    // The socket may be inherited, and then the address of the config is not its own.
    let guarded = !parts.doors.admin.address().ip().is_loopback();
    let admin = Admin::new(
        &parts.kernel,
        identity,
        parts.reload.clone(),
        token,
        guarded,
        facts,
    );
    let gateway = parts.gateway.clone();
    let view = move || json!(gateway.as_ref().map(|gateway| gateway.view()));
    let admin = admin.with_page(&svc_gateway::view::PAGE, Arc::new(view));
    let edge = parts.edge.clone();
    let view = move || json!(edge.as_ref().map(|edge| edge.view()));
    let admin = admin.with_page(&svc_edge::view::PAGE, Arc::new(view));
    let edge = parts.edge.clone();
    let purge = move |query| -> Doing {
        let edge = edge.clone();
        Box::pin(async move {
            let edge = edge.ok_or("the edge of this node is off")?;
            edge.purge(query).await
        })
    };
    let admin = admin.with_action(&svc_edge::purge::ACTION, Arc::new(purge));
    #[cfg(feature = "chaos")]
    let admin = crate::chaos::with_actions(admin, parts.transport.clone());
    let (admin, door, bounds) = (
        Arc::new(admin),
        parts.doors.admin.clone(),
        door_limits(text.admin.max_connections),
    );
    Child::new(&ADMIN, move |context| {
        serve(context, door.clone(), bounds, admin.clone())
    })
}

fn config(parts: &Parts) -> Child {
    let (reloader, reload, updates) = (
        parts.reloader.clone(),
        parts.reload.clone(),
        parts.updates.clone(),
    );
    let blocking = Blocking::new(&parts.kernel.registry);
    Child::new(&CONFIG, move |context| {
        reloader
            .clone()
            .run(context, reload.clone(), updates.clone(), blocking.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: KN-10
    #[test]
    fn the_whole_node_is_a_tree_that_can_start_and_end() {
        kernel::tree::check(&SPECS).unwrap();
        assert_eq!(ADMIN.phase, Phase::Admin, "the admin server is last");
        assert_eq!(
            SPECS
                .iter()
                .filter(|spec| spec.phase == Phase::Admin)
                .count(),
            1
        );
    }
}
