//! What became of the requests: counts per stream, latency by quantile, outcomes one by one.

use super::Latency;
use crate::http::Failure;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// Distinct reasons counted by name; further ones are counted as `other`.
const MAX_REASONS: usize = 64;

/// One request from its intention to its end.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Index of the stream, in the order they were added.
    pub stream: usize,
    /// When it should have left.
    pub intended: Instant,
    /// When it had a connection.
    pub connected_at: Option<Instant>,
    /// When its last byte was handed to the system.
    pub written_at: Option<Instant>,
    /// When it ended, in either way.
    pub ended_at: Instant,
    /// Whether its connection had carried a request before: such a one may be closed by the server
    /// just as the request leaves, which loses it without anyone's fault.
    pub reused_connection: bool,
    /// The reason header of the response.
    pub reason: Option<String>,
    /// The status, or why there is none.
    pub result: Result<u16, Failure>,
}

/// What became of one stream.
#[derive(Debug, Clone)]
pub struct StreamReport {
    /// Its name.
    pub name: String,
    /// Requests that were to leave: `sent` and `overflow`.
    pub intended: u64,
    /// Requests that were tried.
    pub sent: u64,
    /// Requests not tried, because too many were under way.
    pub overflow: u64,
    /// Responses with a status below 400.
    pub ok: u64,
    /// Responses by status.
    pub by_status: BTreeMap<u16, u64>,
    /// Responses by the reason they name.
    pub by_reason: BTreeMap<String, u64>,
    /// Requests without a whole response.
    pub failures: BTreeMap<Failure, u64>,
    /// Latency of the responses below 400.
    pub latency: Latency,
    /// Latency of the others. Failures are in neither: look at their count.
    pub refusal_latency: Latency,
}

impl StreamReport {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            intended: 0,
            sent: 0,
            overflow: 0,
            ok: 0,
            by_status: BTreeMap::new(),
            by_reason: BTreeMap::new(),
            failures: BTreeMap::new(),
            latency: Latency::new(),
            refusal_latency: Latency::new(),
        }
    }

    /// How many failed in this way.
    #[must_use]
    pub fn failed(&self, failure: Failure) -> u64 {
        self.failures.get(&failure).copied().unwrap_or(0)
    }

    /// The part of the intended requests that went well, between 0 and 1.
    #[must_use]
    pub fn ok_share(&self) -> f64 {
        if self.intended == 0 {
            0.0
        } else {
            self.ok as f64 / self.intended as f64
        }
    }

    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.intended += 1;
        self.sent += 1;
        match outcome.result {
            Ok(status) => self.add_response(status, outcome),
            Err(failure) => *self.failures.entry(failure).or_default() += 1,
        }
    }

    fn add_response(&mut self, status: u16, outcome: &Outcome) {
        let latency = outcome.ended_at.duration_since(outcome.intended);
        *self.by_status.entry(status).or_default() += 1;
        if let Some(reason) = &outcome.reason {
            let known = self.by_reason.contains_key(reason) || self.by_reason.len() < MAX_REASONS;
            let name = if known { reason.as_str() } else { "other" };
            *self.by_reason.entry(name.to_owned()).or_default() += 1;
        }
        if status < 400 {
            self.ok += 1;
            self.latency.record(latency);
        } else {
            self.refusal_latency.record(latency);
        }
    }
}

/// What became of a load.
#[derive(Debug, Clone)]
pub struct Report {
    /// One for each stream, in the order they were added.
    pub streams: Vec<StreamReport>,
    /// The outcomes kept one by one, in the order they ended, warm-up included.
    pub outcomes: Vec<Outcome>,
    /// From the first intended instant to the last end.
    pub elapsed: Duration,
    /// Connections opened.
    pub connections: u64,
}

impl Report {
    /// The stream of this name.
    ///
    /// # Panics
    /// When the load had no such stream: the test asks for the wrong one.
    #[must_use]
    pub fn stream(&self, name: &str) -> &StreamReport {
        let found = self.streams.iter().find(|stream| stream.name == name);
        found.unwrap_or_else(|| panic!("the load has no stream {name}"))
    }

    /// Responses below 400 of all streams.
    #[must_use]
    pub fn ok(&self) -> u64 {
        self.streams.iter().map(|stream| stream.ok).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |latency: Duration| latency.as_secs_f64() * 1e3;
        writeln!(
            f,
            "stream intended ok% p50/p95/p99/max ms statuses failures overflow"
        )?;
        for s in &self.streams {
            let l = &s.latency;
            write!(f, "{} {} {:.2}", s.name, s.intended, s.ok_share() * 100.0)?;
            write!(
                f,
                " {:.1}/{:.1}/{:.1}/{:.1}",
                ms(l.p50()),
                ms(l.p95()),
                ms(l.p99()),
                ms(l.max())
            )?;
            writeln!(f, " {:?} {:?} {}", s.by_status, s.failures, s.overflow)?;
        }
        Ok(())
    }
}
