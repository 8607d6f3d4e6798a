//! An open-loop load generator: requests leave when they are due, whatever became of the earlier ones.
//!
//! Latency counts from the instant a request was *intended* to leave, so a server that stalls is
//! charged for every request that should have been sent meanwhile (no coordinated omission).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

mod latency;
mod ledger;
mod pace;
mod pool;
mod report;
mod shot;
#[cfg(test)]
mod tests;

pub use latency::Latency;
pub use report::{Outcome, Report, StreamReport};

use ledger::Ledger;
use pool::Pool;

/// One kind of request, sent at a rate of its own.
#[derive(Debug, Clone)]
pub struct Stream {
    name: String,
    rate_per_s: f64,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Stream {
    /// GETs `/` at this rate; in a closed loop the rate is not used.
    #[must_use]
    pub fn new(name: &str, rate_per_s: f64) -> Self {
        Self {
            name: name.to_owned(),
            rate_per_s,
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Asks for this path.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    /// Adds a header line.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Names the tenant, as `x-tenant`.
    #[must_use]
    pub fn tenant(self, tenant: &str) -> Self {
        self.header("x-tenant", tenant)
    }

    /// Sends a body with this method.
    #[must_use]
    pub fn body(mut self, method: &str, body: impl Into<Vec<u8>>) -> Self {
        self.method = method.to_owned();
        self.body = body.into();
        self
    }

    fn request(&self, host: SocketAddr) -> Vec<u8> {
        let headers: Vec<_> = self
            .headers
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        crate::http::request_bytes(&self.method, host, &self.path, &headers, &self.body)
    }
}

/// When requests leave.
#[derive(Debug, Clone, Copy)]
enum Mode {
    Open,
    Closed { workers: usize },
}

/// A load to be put on one address.
#[derive(Debug, Clone)]
pub struct Load {
    addr: SocketAddr,
    streams: Vec<Stream>,
    mode: Mode,
    duration: Duration,
    warm_up: Duration,
    timeout: Duration,
    max_connections: usize,
    max_outstanding: usize,
    kept_outcomes: usize,
}

impl Load {
    /// An open loop of ten seconds, at most 256 connections and 10,000 requests under way.
    #[must_use]
    pub fn new(addr: SocketAddr) -> Self {
        Self {
            addr,
            streams: Vec::new(),
            mode: Mode::Open,
            duration: Duration::from_secs(10),
            warm_up: Duration::ZERO,
            timeout: Duration::from_millis(1500),
            max_connections: 256,
            max_outstanding: 10_000,
            kept_outcomes: 0,
        }
    }

    /// Adds a stream; names must differ.
    #[must_use]
    pub fn stream(mut self, stream: Stream) -> Self {
        self.streams.push(stream);
        self
    }

    /// Sends for so long, warm-up included.
    #[must_use]
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    /// Leaves requests intended before this out of the report.
    #[must_use]
    pub fn warm_up(mut self, warm_up: Duration) -> Self {
        self.warm_up = warm_up;
        self
    }

    /// Gives a request up so long after its intended instant.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Opens at most so many connections; requests beyond wait for one, and the wait counts.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections;
        self
    }

    /// Has at most so many requests under way; those beyond are not sent but counted as overflow.
    #[must_use]
    pub fn max_outstanding(mut self, requests: usize) -> Self {
        self.max_outstanding = requests;
        self
    }

    /// Keeps the first so many outcomes one by one, for tests that ask when each request left.
    #[must_use]
    pub fn keep_outcomes(mut self, outcomes: usize) -> Self {
        self.kept_outcomes = outcomes;
        self
    }

    /// Closed loop instead: so many workers, each sending when its last answer has come. Worker
    /// `i` plays stream `i % streams`. Latency then counts from the real sending.
    #[must_use]
    pub fn closed(mut self, workers: usize) -> Self {
        self.mode = Mode::Closed { workers };
        self
    }

    /// Starts sending, in the current runtime.
    #[must_use]
    pub fn start(self) -> Running {
        let range = Arc::new(Range::new(self));
        let driver = match range.load.mode {
            Mode::Open => tokio::task::spawn_blocking({
                let (range, runtime) = (range.clone(), tokio::runtime::Handle::current());
                move || pace::open(&range, &runtime)
            }),
            Mode::Closed { workers } => tokio::spawn(pace::closed(range.clone(), workers)),
        };
        Running { range, driver }
    }

    /// Sends, waits for the last answer, and reports.
    pub async fn run(self) -> Report {
        self.start().finish().await
    }
}

/// What all requests of a running load share.
#[derive(Debug)]
struct Range {
    load: Load,
    started: Instant,
    requests: Vec<Vec<u8>>,
    pool: Pool,
    outstanding: Arc<Semaphore>,
    ledger: Ledger,
    stopped: AtomicBool,
}

impl Range {
    fn new(load: Load) -> Self {
        Self {
            started: Instant::now(),
            requests: load
                .streams
                .iter()
                .map(|stream| stream.request(load.addr))
                .collect(),
            pool: Pool::new(load.addr, load.max_connections),
            outstanding: Arc::new(Semaphore::new(load.max_outstanding)),
            ledger: Ledger::new(
                load.streams.iter().map(|s| s.name.clone()),
                load.kept_outcomes,
            ),
            stopped: AtomicBool::new(false),
            load,
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Whether a request intended then belongs in the report.
    fn counts(&self, intended: Instant) -> bool {
        intended.duration_since(self.started) >= self.load.warm_up
    }
}

/// A load under way.
#[derive(Debug)]
pub struct Running {
    range: Arc<Range>,
    driver: JoinHandle<()>,
}

impl Running {
    /// When the first request was intended to leave.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.range.started
    }

    /// Responses received so far, of all streams, warm-up included.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.range.ledger.answered()
    }

    /// Sends no more; what is under way goes on.
    pub fn stop(&self) {
        self.range.stopped.store(true, Ordering::Relaxed);
    }

    /// Waits until all is sent and every request has ended, which takes at most the client timeout.
    pub async fn finish(mut self) -> Report {
        (&mut self.driver)
            .await
            .expect("the pacing loop does not panic");
        let all = u32::try_from(self.range.load.max_outstanding).expect("bounded by the semaphore");
        let settled = self.range.outstanding.acquire_many(all).await;
        drop(settled.expect("the semaphore is never closed"));
        self.range
            .ledger
            .report(self.range.started.elapsed(), self.range.pool.opened())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}
