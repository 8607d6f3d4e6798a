//! The overlay: the node's own HTTP API, to look at it and to steer it.
//!
//! [`request`] is the story of a request; [`routes`] is the table that everything is made from.

use std::sync::Arc;

use bytes::Bytes;
use front_door::{Fault, InPlace, Service, Visit};
use http::Response;
use http_rules::request_id;
use svc_gateway::GateView;
use svc_transport::Transport;

use crate::tree::Parts;
use body::OverlayBody;
use desk::Desk;
use gates::Gates;
use journal::Journal;
use metrics::Metrics;
use views::GatesView;

pub(crate) use front::LiveFront;
pub(crate) use reject::Refusal;

mod acts;
mod body;
pub(crate) mod config;
mod desk;
mod events;
mod front;
mod gates;
mod guard;
mod journal;
mod metrics;
mod opcode_gates;
pub(crate) mod openapi;
pub(crate) mod reference;
mod reject;
mod request;
mod respond;
mod routes;
pub(crate) mod tree;
mod views;

/// The overlay.
pub(crate) struct Overlay {
    front: LiveFront,
    desk: Desk,
    gates: Gates,
    metrics: Metrics,
    journal: Arc<Journal>,
}

impl Overlay {
    /// An overlay of the node made of these parts.
    pub(crate) fn new(front: &LiveFront, parts: &Parts) -> Arc<Self> {
        Self::of(front, Desk::new(parts))
    }

    fn of(front: &LiveFront, desk: Desk) -> Arc<Self> {
        Arc::new(Self {
            front: front.clone(),
            gates: Gates::new(),
            metrics: Metrics::new(&desk.kernel.registry),
            journal: Arc::new(Journal::new(fastrand::u64(..))),
            desk,
        })
    }

    fn gates_view(&self) -> GatesView {
        let (gateway, transport) = (self.desk.gateway.as_ref(), self.desk.transport.as_ref());
        GatesView {
            gates: gateway.map_or_else(Vec::new, |gateway| gateway.gates()),
            transport: transport.map_or_else(Vec::new, opcodes),
            overlay: self.gates.view(),
        }
    }
}

fn opcodes(transport: &Arc<Transport>) -> Vec<GateView> {
    let gates = transport.gates().into_iter();
    let named = gates
        .map(|(key, report)| GateView::of(opcode_gates::name(key.app_proto, key.opcode), &report));
    named.collect()
}

impl Service for Overlay {
    type Body = OverlayBody;

    async fn call(&self, request: InPlace<'_>, visit: &Visit) -> Response<OverlayBody> {
        request::answer(self, request.take(), visit).await
    }

    fn refuse(&self, fault: Fault, _visit: &Visit) -> Response<Bytes> {
        let refusal = Refusal::from(fault);
        self.metrics.refused(&refusal);
        let id = request_id::make([fastrand::u64(..), fastrand::u64(..)]);
        respond::refusal(&refusal, &id)
    }
}
