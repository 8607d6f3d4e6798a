//! Keep-alive connections of the load generator: reused last in first out, opened as needed up to a cap.

use crate::http::{Connection, Failure};
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout_at;

#[derive(Debug)]
pub(super) struct Pool {
    addr: SocketAddr,
    /// One permit per connection in use. A connection is opened only by who holds a permit and
    /// found none idle, so that idle and used ones together never exceed the cap.
    permits: Semaphore,
    idle: Mutex<Vec<Connection>>,
    opened: AtomicU64,
}

/// A connection in use; it goes back only by [`Lease::keep`].
#[derive(Debug)]
pub(super) struct Lease<'a> {
    pub(super) connection: Connection,
    /// Whether it has carried a request before.
    pub(super) reused: bool,
    pool: &'a Pool,
    _permit: SemaphorePermit<'a>,
}

impl Pool {
    pub(super) fn new(addr: SocketAddr, max_connections: usize) -> Self {
        Self {
            addr,
            permits: Semaphore::new(max_connections),
            idle: Mutex::default(),
            opened: AtomicU64::new(0),
        }
    }

    /// Connections opened so far.
    pub(super) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Waits its turn, then takes an idle connection or opens one.
    pub(super) async fn lease(&self, deadline: Instant) -> Result<Lease<'_>, Failure> {
        let waiting = timeout_at(deadline.into(), self.permits.acquire()).await;
        let permit = waiting
            .map_err(|_| Failure::Timeout)?
            .expect("the semaphore is never closed");
        if let Some(connection) = self.quiet() {
            return Ok(Lease {
                connection,
                reused: true,
                pool: self,
                _permit: permit,
            });
        }
        let connection = Connection::open_by(self.addr, deadline).await?;
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(Lease {
            connection,
            reused: false,
            pool: self,
            _permit: permit,
        })
    }

    /// An idle connection that the server has not closed meanwhile, as any client would look.
    fn quiet(&self) -> Option<Connection> {
        let mut idle = self.idle.lock();
        std::iter::from_fn(|| idle.pop()).find(Connection::is_quiet)
    }
}

impl Lease<'_> {
    /// Gives the connection back for the next request.
    pub(super) fn keep(self) {
        self.pool.idle.lock().push(self.connection);
    }
}
