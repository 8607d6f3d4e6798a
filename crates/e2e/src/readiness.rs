//! A load balancer's look at `/readyz`: each state the node went through, in order.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::http;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(5);

type States = Vec<(Instant, String)>;

/// Looks at a node until dropped.
#[derive(Debug)]
pub struct Watch {
    states: watch::Receiver<States>,
    looking: JoinHandle<()>,
    /// States before this one are not told.
    first: usize,
}

impl Watch {
    /// Begins to look.
    #[must_use]
    pub fn start(admin: SocketAddr) -> Self {
        let (seen, states) = watch::channel(Vec::new());
        let looking = tokio::spawn(async move {
            loop {
                let state = state(admin).await;
                seen.send_if_modified(|states: &mut States| {
                    let news = states.last().is_none_or(|(_, last)| *last != state);
                    if news {
                        states.push((Instant::now(), state));
                    }
                    news
                });
                tokio::time::sleep(EVERY).await;
            }
        });
        Self {
            states,
            looking,
            first: 0,
        }
    }

    /// Begins to tell once the node is ready in every part.
    ///
    /// # Panics
    /// If that is not so within `within`.
    pub async fn of_ready(admin: SocketAddr, within: Duration) -> Self {
        let mut watch = Self::start(admin);
        watch.is("ready", within).await;
        watch.first = watch.states.borrow().len() - 1;
        watch
    }

    /// Waits until the node has turned `wanted` after `since`; says when.
    ///
    /// # Panics
    /// If that is not so within `within`.
    pub async fn turns(&mut self, wanted: &str, since: Instant, within: Duration) -> Instant {
        self.wait(wanted, within, |states| {
            let mut later = states.iter().filter(|(at, _)| *at >= since);
            later.find(|(_, state)| state == wanted).map(|(at, _)| *at)
        })
        .await
    }

    /// Waits until the node is `wanted`; says since when it has been.
    ///
    /// # Panics
    /// If that is not so within `within`.
    pub async fn is(&mut self, wanted: &str, within: Duration) -> Instant {
        self.wait(wanted, within, |states| {
            let (at, state) = states.last()?;
            (state == wanted).then_some(*at)
        })
        .await
    }

    async fn wait(
        &mut self,
        wanted: &str,
        within: Duration,
        look: impl Fn(&States) -> Option<Instant>,
    ) -> Instant {
        let waiting = self.states.wait_for(|states| look(states).is_some());
        let found = match tokio::time::timeout(within, waiting).await {
            Ok(Ok(states)) => look(&states),
            _ => None,
        };
        found.unwrap_or_else(|| panic!("not {wanted} within {within:?}: {:?}", self.words()))
    }

    /// The states so far.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let states = self.states.borrow();
        let told = states.iter().skip(self.first);
        told.map(|(_, state)| state.clone()).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

async fn state(admin: SocketAddr) -> String {
    let answer = match http::get(admin, "/readyz").await {
        Ok(answer) => answer,
        Err(failure) => return failure.to_string(),
    };
    let page: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    page["state"].as_str().unwrap_or("no state").to_owned()
}
