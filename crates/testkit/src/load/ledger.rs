//! Where running requests note their outcomes.

use super::report::{Outcome, Report, StreamReport};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Ledger {
    streams: Vec<Mutex<StreamReport>>,
    outcomes: Mutex<Vec<Outcome>>,
    kept_outcomes: usize,
    answered: AtomicU64,
}

impl Ledger {
    pub(super) fn new(names: impl Iterator<Item = String>, kept_outcomes: usize) -> Self {
        Self {
            streams: names
                .map(|name| Mutex::new(StreamReport::new(name)))
                .collect(),
            outcomes: Mutex::default(),
            kept_outcomes,
            answered: AtomicU64::new(0),
        }
    }

    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    pub(super) fn note(&self, outcome: Outcome, counts: bool) {
        if outcome.result.is_ok() {
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        if counts {
            self.streams[outcome.stream].lock().add(&outcome);
        }
        if self.kept_outcomes > 0 {
            let mut outcomes = self.outcomes.lock();
            if outcomes.len() < self.kept_outcomes {
                outcomes.push(outcome);
            }
        }
    }

    pub(super) fn overflow(&self, stream: usize, counts: bool) {
        if counts {
            let mut stream = self.streams[stream].lock();
            stream.intended += 1;
            stream.overflow += 1;
        }
    }

    pub(super) fn report(&self, elapsed: Duration, connections: u64) -> Report {
        Report {
            streams: self
                .streams
                .iter()
                .map(|stream| stream.lock().clone())
                .collect(),
            outcomes: std::mem::take(&mut self.outcomes.lock()),
            elapsed,
            connections,
        }
    }
}
