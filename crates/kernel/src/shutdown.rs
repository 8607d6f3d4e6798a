//! The shutdown signal: a level that everyone can wait for, however late they subscribe.

use tokio::sync::watch;

use crate::drain::Stage;
use crate::queue::{self, OnFull, QueueSpec};

/// The stage cell.
pub static STAGE: QueueSpec = QueueSpec {
    name: "shutdown",
    capacity: 1,
    on_full: OnFull::LastWriteWins,
    doc: "how far the shutdown has come: supervisor → everyone",
};

/// The request cell.
pub static REQUESTS: QueueSpec = QueueSpec {
    name: "shutdown_requests",
    capacity: 1,
    on_full: OnFull::LastWriteWins,
    doc: "number of shutdown requests so far: signals, operators → supervisor",
};

/// Reads the stage. A late subscriber sees it as well as an early one.
#[derive(Clone, Debug)]
pub struct Shutdown {
    stage: watch::Receiver<Stage>,
}

/// Writes the stage; held by the supervisor alone.
#[derive(Debug)]
pub struct StagePublisher {
    stage: watch::Sender<Stage>,
}

/// Makes the pair.
pub fn stages() -> (StagePublisher, Shutdown) {
    let (sender, receiver) = queue::latest(&STAGE, Stage::Running);
    (
        StagePublisher { stage: sender },
        Shutdown { stage: receiver },
    )
}

impl StagePublisher {
    pub(crate) fn publish(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }
}

impl Shutdown {
    /// Waits until the shutdown has come as far as `stage`.
    pub async fn reached(&self, stage: Stage) {
        let mut receiver = self.stage.clone();
        // A supervisor that is gone cannot keep anyone running.
        let _gone = receiver.wait_for(|now| *now >= stage).await.is_err();
    }

    /// How far the shutdown has come.
    pub fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Whether a drain has begun.
    pub fn draining(&self) -> bool {
        self.stage() > Stage::Running
    }
}

/// Asks for shutdown; asking twice aborts.
#[derive(Clone, Debug)]
pub struct ShutdownRequests {
    count: watch::Sender<u64>,
}

impl Default for ShutdownRequests {
    fn default() -> Self {
        Self {
            count: queue::latest(&REQUESTS, 0).0,
        }
    }
}

impl ShutdownRequests {
    /// Asks once more.
    pub fn request(&self) {
        self.count.send_modify(|count| *count += 1);
    }

    /// Asks unless somebody has: for who repeats a request without meaning more by it. Whether this was the first.
    pub fn begin(&self) -> bool {
        self.count.send_if_modified(|count| {
            let first = *count == 0;
            *count = (*count).max(1);
            first
        })
    }

    /// How often it was asked.
    pub fn count(&self) -> u64 {
        *self.count.borrow()
    }

    /// Waits until it was asked more than `seen` times; returns the count.
    pub async fn beyond(&self, seen: u64) -> u64 {
        let mut receiver = self.count.subscribe();
        match receiver.wait_for(|count| *count > seen).await {
            Ok(count) => *count,
            Err(_) => unreachable!("this handle holds a sender"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: KN-09
    #[test]
    fn who_only_wants_it_begun_never_aborts_it() {
        let requests = ShutdownRequests::default();
        assert!(requests.begin());
        assert!(!requests.begin());
        assert_eq!(requests.count(), 1);
        requests.request();
        assert!(!requests.begin());
        assert_eq!(requests.count(), 2);
    }

    // req: KN-09
    #[tokio::test]
    async fn a_late_subscriber_still_sees_the_shutdown() {
        let (publisher, shutdown) = stages();
        publisher.publish(Stage::Intake);
        publisher.publish(Stage::Work);
        let late = shutdown.clone();
        late.reached(Stage::Intake).await;
        assert_eq!(late.stage(), Stage::Work);
    }

    #[tokio::test]
    async fn a_supervisor_that_is_gone_releases_everyone() {
        let (publisher, shutdown) = stages();
        drop(publisher);
        shutdown.reached(Stage::Stopped).await;
    }

    #[tokio::test]
    async fn two_requests_before_anyone_looks_are_two() {
        let requests = ShutdownRequests::default();
        requests.request();
        requests.request();
        assert_eq!(requests.beyond(0).await, 2);
    }
}
