//! What the kernel's own tests share: a supervised set of children, from start to stop.

use std::time::Duration;

use tokio::task::JoinHandle;

use crate::Kernel;
use crate::drain::{Outcome, Plan};
use crate::readiness::State;
use crate::shutdown::StagePublisher;
use crate::supervisor::Supervisor;
use crate::tree::Child;

/// Starts `children` with three seconds to drain.
pub(crate) fn supervise(
    kernel: &Kernel,
    publisher: StagePublisher,
    children: Vec<Child>,
) -> JoinHandle<Outcome> {
    let supervisor = Supervisor::new(kernel.clone(), publisher, children).unwrap();
    let plan = || Plan {
        accept_grace: Duration::ZERO,
        deadline: Duration::from_secs(3),
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the supervisor is the root of its own tree"
    )]
    tokio::spawn(supervisor.run(plan))
}

/// Waits until every child is ready.
pub(crate) async fn until_ready(kernel: &Kernel) {
    let mut changes = kernel.readiness.changes();
    while kernel.readiness.snapshot().state != State::Ready {
        changes.changed().await.unwrap();
    }
}
