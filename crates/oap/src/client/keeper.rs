//! Keeps one usable connection as long as somebody wants one: dials, backs off, replaces, and closes in the end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::dial::Dial;
use super::link::{Link, lock};
use super::pump::Pump;
use super::{Failure, Settings};

/// Connections that finish their last calls beside the one in use.
const LINKS_MAX: usize = 4;
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
const BACKOFF_CAP: Duration = Duration::from_secs(5);

pub(super) struct Keeper {
    pub(super) settings: Settings,
    dial: Box<dyn Dial>,
    state: Mutex<State>,
    /// Rung when a link is wanted; the keeping task alone waits for it.
    wanted: Notify,
    /// Rung when there is a link or there will be none; callers wait for it.
    changed: Notify,
    /// Rung when the end has come.
    closing: Notify,
}

#[derive(Default)]
struct State {
    current: Option<Arc<Link>>,
    /// Why there was no link the last time.
    failure: Option<Failure>,
    /// Callers without a link.
    waiting: usize,
    closing: bool,
}

/// One caller without a link; counted as long as it waits.
struct Waiting<'a>(&'a Keeper);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).waiting -= 1;
    }
}

impl Keeper {
    pub(super) fn new(settings: Settings, dial: Box<dyn Dial>) -> Self {
        Self {
            settings,
            dial,
            state: Mutex::default(),
            wanted: Notify::new(),
            changed: Notify::new(),
            closing: Notify::new(),
        }
    }

    /// A link that takes calls, once there is one.
    pub(super) async fn link(&self) -> Result<Arc<Link>, Failure> {
        if let Some(link) = self.usable()? {
            return Ok(link);
        }
        lock(&self.state).waiting += 1;
        let _waiting = Waiting(self);
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Before looking, or else what is rung in between would be missed.
            changed.as_mut().enable();
            if let Some(link) = self.usable()? {
                return Ok(link);
            }
            self.wanted.notify_one();
            changed.await;
        }
    }

    fn usable(&self) -> Result<Option<Arc<Link>>, Failure> {
        let state = lock(&self.state);
        if state.closing {
            return Err(Failure::Closed);
        }
        Ok(state.current.clone().filter(|link| link.is_usable()))
    }

    /// What to say to a call whose time was over before it had begun.
    pub(super) fn late(&self) -> Failure {
        let state = lock(&self.state);
        let usable = state.current.as_ref().is_some_and(|link| link.is_usable());
        match &state.failure {
            Some(failure) if !usable => Failure::Unreachable(failure.to_string()),
            _ => Failure::Deadline,
        }
    }

    /// No more calls; those that run have until the deadline.
    pub(super) fn close(&self) {
        lock(&self.state).closing = true;
        self.closing.notify_waiters();
        self.changed.notify_waiters();
        self.wanted.notify_one();
    }

    async fn closed(&self) {
        loop {
            let mut closing = std::pin::pin!(self.closing.notified());
            closing.as_mut().enable();
            if lock(&self.state).closing {
                return;
            }
            closing.await;
        }
    }

    fn is_wanted(&self) -> bool {
        let state = lock(&self.state);
        let usable = state.current.as_ref().is_some_and(|link| link.is_usable());
        state.waiting > 0 && !usable && !state.closing
    }

    /// The task of a client.
    pub(super) async fn keep(self: Arc<Self>) {
        let mut links = JoinSet::new();
        let mut failures = 0;
        loop {
            tokio::select! {
                () = self.closed() => break,
                () = self.wanted.notified() => (),
                Some(_) = links.join_next() => (),
            }
            while self.is_wanted() && links.len() < LINKS_MAX {
                failures = self.failures(failures);
                tokio::select! {
                    () = self.closed() => break,
                    dialed = self.dialed(failures) => self.took(dialed, &mut links, &mut failures),
                }
            }
        }
        self.end(links).await;
    }

    /// A link that never gave an answer is no better than none.
    fn failures(&self, failures: u32) -> u32 {
        match lock(&self.state).current.take() {
            Some(link) if link.has_served() => 0,
            Some(_) => failures.saturating_add(1),
            None => failures,
        }
    }

    async fn dialed(&self, failures: u32) -> Result<Pump, Failure> {
        if failures > 0 {
            sleep(backoff(failures, fastrand::f64())).await;
        }
        let settings = &self.settings;
        let io = match timeout(settings.connect_timeout, self.dial.dial()).await {
            Ok(dialed) => dialed.map_err(Failure::lost)?,
            Err(_) => return Err(Failure::lost("the server does not accept")),
        };
        match timeout(settings.hello_timeout, Pump::greet(io, settings)).await {
            Ok(greeted) => greeted,
            Err(_) => Err(Failure::lost("the server does not greet")),
        }
    }

    fn took(&self, dialed: Result<Pump, Failure>, links: &mut JoinSet<()>, failures: &mut u32) {
        let mut state = lock(&self.state);
        match dialed {
            Ok(pump) => {
                state.current = Some(Arc::clone(&pump.link));
                state.failure = None;
                links.spawn(pump.run());
                self.changed.notify_waiters();
            }
            Err(failure) => {
                state.failure = Some(failure);
                *failures = failures.saturating_add(1);
            }
        }
    }

    async fn end(&self, mut links: JoinSet<()>) {
        let current = lock(&self.state).current.take();
        if let Some(link) = current {
            link.leave();
        }
        let all = async { while links.join_next().await.is_some() {} };
        if timeout(self.settings.drain_timeout, all).await.is_err() {
            links.shutdown().await;
        }
    }
}

/// Doubles with each failure up to the cap, and lies between a half and the whole of that.
fn backoff(failures: u32, draw: f64) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.min(16));
    let most = BACKOFF_FIRST.saturating_mul(doubled).min(BACKOFF_CAP);
    most.mul_f64(0.5 + 0.5 * draw.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: TR-08
    #[test]
    fn the_delay_doubles_from_a_tenth_of_a_second_to_five_seconds_with_jitter() {
        assert_eq!(backoff(1, 0.0), Duration::from_millis(50));
        assert_eq!(backoff(1, 1.0), Duration::from_millis(100));
        assert_eq!(backoff(3, 1.0), Duration::from_millis(400));
        for failures in [7, 8, 100, u32::MAX] {
            assert_eq!(backoff(failures, 1.0), BACKOFF_CAP);
            assert_eq!(backoff(failures, 0.0), BACKOFF_CAP / 2);
        }
    }
}
