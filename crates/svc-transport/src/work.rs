//! What the workers do: let a service answer a request.

use std::sync::Arc;

use concurrency_gate::Lease;
use kernel::pool::Work;

use crate::gates::OpcodeKey;
use crate::reject::Refusal;
use crate::service::{Ask, Handler, Reply};

/// The work of the pool.
pub(crate) struct Serving;

/// A request in the pool's hands.
pub(crate) struct Unit {
    pub(crate) ask: Ask,
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) repeats: bool,
    /// Its place at the gate, held until nobody works on it any more, whoever has lost interest before.
    pub(crate) _place: Lease<'static, OpcodeKey>,
}

impl Work for Serving {
    type Unit = Unit;
    type Answer = Result<Reply, Refusal>;

    fn repeatable(&self, unit: &Unit) -> bool {
        unit.repeats
    }

    async fn perform(&self, unit: Arc<Unit>) -> Result<Reply, Refusal> {
        unit.handler.handle(&unit.ask).await
    }
}
