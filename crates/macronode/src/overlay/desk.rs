//! Where the overlay finds what it shows and steers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use kernel::Kernel;
use kernel::config::{ReloadRequests, Reloader};
use svc_edge::Edge;
use svc_gateway::Gateway;
use svc_transport::Transport;

use crate::config::{NodeText, Settings};
use crate::tree::Parts;

/// What the overlay shows and steers.
pub(crate) struct Desk {
    pub(crate) kernel: Kernel,
    pub(crate) reloader: Arc<Reloader<NodeText, Settings>>,
    pub(crate) reload: ReloadRequests,
    pub(crate) gateway: Option<Arc<Gateway>>,
    pub(crate) edge: Option<Arc<Edge>>,
    pub(crate) transport: Option<Arc<Transport>>,
    pub(crate) doors: BTreeMap<&'static str, SocketAddr>,
}

impl Desk {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            kernel: parts.kernel.clone(),
            reloader: parts.reloader.clone(),
            reload: parts.reload.clone(),
            gateway: parts.gateway.clone(),
            edge: parts.edge.clone(),
            transport: parts.transport.clone(),
            doors: parts.doors.addresses(),
        }
    }
}
