//! Where the work of a request is done: on its own task, or by a supervised worker that may die without losing it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kernel::limits;
use kernel::lock::{Lock, LockSpec};
use kernel::pool::{PoolHandle, PoolSpec, Work};
use kernel::queue::{OnFull, QueueSpec};
use kernel::reject::Reject;

use crate::forward::{Call, Outcome};
use crate::reject::Refusal;

/// Requests in the hands of the pool; the fair queue lets no more in.
pub(crate) const POOL_UNITS: usize = 4_096;

/// Requests waiting for a worker.
pub(crate) static WORK: QueueSpec = QueueSpec {
    name: "gateway_work",
    capacity: POOL_UNITS,
    on_full: OnFull::RejectNew,
    doc: "admitted requests → workers, in `pool` mode; holds all that may be admitted",
};
/// Requests whose worker died.
pub(crate) static WORK_AGAIN: QueueSpec = QueueSpec {
    name: "gateway_work_again",
    capacity: POOL_UNITS,
    on_full: OnFull::RejectNew,
    doc: "requests whose worker died and that may be repeated → living workers; holds all they can hold",
};
/// Guards a request that waits for its worker.
pub(crate) static PARCEL: LockSpec = LockSpec {
    name: "gateway_parcel",
    level: 62,
    doc: "a request in the pool's hands, until a worker takes it",
};

/// The pool's shape.
pub(crate) static POOL: PoolSpec = PoolSpec {
    name: "gateway",
    queue: &WORK,
    requeue: &WORK_AGAIN,
};

const _: () = assert!(POOL_UNITS >= limits::WORK_QUEUE);

/// What workers do: send requests on.
pub(crate) struct Sending;

/// A request in the pool's hands.
pub(crate) struct Parcel {
    call: Lock<Option<Call<'static>>>,
    repeatable: bool,
    /// A worker had it before.
    begun: AtomicBool,
}

impl Work for Sending {
    type Unit = Parcel;
    type Answer = Option<Outcome>;

    fn repeatable(&self, parcel: &Parcel) -> bool {
        parcel.repeatable
    }

    async fn perform(&self, parcel: Arc<Parcel>) -> Option<Outcome> {
        let call = {
            let mut call = parcel.call.lock();
            let copied = call
                .as_ref()
                .filter(|_| parcel.repeatable)
                .and_then(Call::again);
            copied.or_else(|| call.take())
        };
        let mut call = call?;
        if parcel.begun.swap(true, Ordering::Relaxed) {
            call.say_what_is_left();
        }
        Some(call.send().await)
    }
}

/// Has a request sent on by a worker.
pub(crate) async fn by_worker(workers: &PoolHandle<Sending>, call: Call<'_>) -> Outcome {
    let parcel = Parcel {
        repeatable: call.is_repeatable(),
        call: Lock::new(&PARCEL, Some(call.owned())),
        begun: AtomicBool::new(false),
    };
    let answered = match workers.submit(parcel) {
        Ok(ticket) => ticket.answer().await,
        Err(reject) => Err(reject),
    };
    let refusal = match answered {
        Ok(Some(outcome)) => return outcome,
        Ok(None) => Refusal::WorkerLost,
        Err(Reject::Busy) => Refusal::NodeBusy,
        Err(Reject::Canceled) => Refusal::Draining,
        Err(_) => Refusal::WorkerLost,
    };
    Outcome {
        answer: Err(refusal),
        tries: 1,
        connecting: None,
    }
}
