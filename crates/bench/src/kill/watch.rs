//! A load balancer's look at `/readyz` while others are busy: each state the node went through.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::load::wire::ask;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(5);

type States = Arc<Mutex<Vec<(Instant, String)>>>;

/// Looks until dropped.
pub(super) struct Watch {
    states: States,
    over: Arc<AtomicBool>,
    looking: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins once the node is ready in every part.
    pub(super) fn of_ready(admin: SocketAddr, within: Duration) -> Result<Self, String> {
        let began = Instant::now();
        while state(admin) != "ready" {
            if began.elapsed() > within {
                return Err(format!("the node is {} and not ready", state(admin)));
            }
            std::thread::sleep(EVERY);
        }
        let (states, over) = (States::default(), Arc::new(AtomicBool::new(false)));
        let looking = {
            let (states, over) = (states.clone(), over.clone());
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    note(&states, state(admin));
                    std::thread::sleep(EVERY);
                }
            })
        };
        Ok(Self {
            states,
            over,
            looking: Some(looking),
        })
    }

    /// When it was in that state after `since`; waits for it.
    pub(super) fn wait(
        &self,
        wanted: &str,
        since: Instant,
        within: Duration,
    ) -> Result<Instant, String> {
        let began = Instant::now();
        loop {
            let states = self.states();
            if let Some(at) = reached(&states, wanted, since) {
                return Ok(at);
            }
            if began.elapsed() > within {
                return Err(format!(
                    "not {wanted} within {within:?}: {:?}",
                    self.words()
                ));
            }
            std::thread::sleep(EVERY);
        }
    }

    /// The states so far.
    pub(super) fn words(&self) -> Vec<String> {
        let states = self.states();
        states.into_iter().map(|(_, state)| state).collect()
    }

    fn states(&self) -> Vec<(Instant, String)> {
        self.states.lock().expect("nobody panics with it").clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // It has nothing to say any more.
        let _ = self.looking.take().map(JoinHandle::join);
    }
}

/// The first instant from `since` on at which the state was the wanted one.
fn reached(states: &[(Instant, String)], wanted: &str, since: Instant) -> Option<Instant> {
    let ends = states.iter().skip(1).map(|(at, _)| Some(*at)).chain([None]);
    let spans = states.iter().zip(ends);
    let mut found =
        spans.filter(|((_, state), end)| state == wanted && end.is_none_or(|end| end > since));
    found.next().map(|((at, _), _)| (*at).max(since))
}

fn note(states: &States, state: String) {
    let mut states = states.lock().expect("nobody panics with it");
    if states.last().is_none_or(|(_, last)| *last != state) {
        states.push((Instant::now(), state));
    }
}

fn state(admin: SocketAddr) -> String {
    let page = match ask(admin, "/readyz") {
        Ok((_, body)) => body,
        Err(error) => return error.to_string(),
    };
    let page: serde_json::Value = serde_json::from_slice(&page).unwrap_or_default();
    page["state"].as_str().unwrap_or("no state").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: AC-04
    #[test]
    fn a_state_that_lasts_counts_from_when_it_is_asked_for() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let state = |ms, word: &str| (at(ms), word.to_owned());
        let states = [
            state(0, "ready"),
            state(100, "degraded"),
            state(300, "ready"),
        ];
        assert_eq!(reached(&states, "degraded", at(50)), Some(at(100)));
        assert_eq!(reached(&states, "ready", at(100)), Some(at(300)));
        assert_eq!(reached(&states, "ready", at(500)), Some(at(500)));
        assert_eq!(reached(&states, "degraded", at(400)), None);
    }
}
