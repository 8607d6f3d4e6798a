//! A client that does nothing wrong, to see what others cost it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use testkit::http::Connection;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::gateway::PATIENCE;
use crate::site::request;

/// Between two requests.
const PAUSE: Duration = Duration::from_millis(1);

/// Asks one thing after the other until told to stop.
#[derive(Debug)]
pub struct Good {
    stop: watch::Sender<bool>,
    asking: JoinHandle<Vec<Duration>>,
}

impl Good {
    /// Begins to ask, on one connection that is kept.
    #[must_use]
    pub fn begin(door: SocketAddr) -> Self {
        let (stop, stopped) = watch::channel(false);
        let asking = tokio::spawn(async move {
            let opened = Connection::open(door, PATIENCE).await;
            let mut connection = opened.expect("a connection");
            let (ask, mut took) = (request("GET", "/good", "", ""), Vec::new());
            while !*stopped.borrow() {
                let began = Instant::now();
                let answer = connection.exchange(&ask, PATIENCE).await;
                assert_eq!(answer.expect("an answer").status, 200);
                took.push(began.elapsed());
                tokio::time::sleep(PAUSE).await;
            }
            took
        });
        Self { stop, asking }
    }

    /// Stops; what all but the slowest hundredth took at most, and how many there were.
    ///
    /// # Panics
    /// If a request was not answered 200.
    pub async fn p99(self) -> (Duration, usize) {
        self.stop.send_replace(true);
        let asked = self.asking.await;
        let mut took = asked.expect("a good client is always answered");
        took.sort();
        (took[took.len() * 99 / 100], took.len())
    }

    /// What it comes to in this time.
    ///
    /// # Panics
    /// As [`Good::p99`].
    pub async fn alone(door: SocketAddr, lasts: Duration) -> Duration {
        let good = Self::begin(door);
        tokio::time::sleep(lasts).await;
        good.p99().await.0
    }
}
