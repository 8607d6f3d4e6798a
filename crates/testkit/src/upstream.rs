//! A real HTTP/1.1 origin on loopback that answers as told: well, late, wrongly or not at all.
//!
//! A reply is chosen by path ([`Upstream::set`]), else the default; then the query may change it
//! (`?delay_ms=20&bytes=1024&status=503`), so that a load generator can choose per request.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

mod connection;
mod fault;
mod journal;
mod places;
mod reply;
#[cfg(test)]
mod tests;

pub use journal::Recorded;
pub use reply::{Fault, Reply, filler};

use journal::Journal;
use places::Places;

/// More connections than this at once are closed on arrival.
const MAX_CONNECTIONS: usize = 8192;

/// A running origin; dropping it ends its connections.
#[derive(Debug)]
pub struct Upstream {
    addr: SocketAddr,
    desk: Arc<Desk>,
    acceptor: AbortHandle,
}

/// What all connections of one origin share.
#[derive(Debug)]
struct Desk {
    replies: Mutex<HashMap<String, Reply>>,
    default: Mutex<Reply>,
    places: Arc<Places>,
    /// Who finds no place is answered 503 at once.
    refuses: AtomicBool,
    journal: Journal,
    /// Requests a connection may carry; `u64::MAX` when unlimited.
    requests_per_connection: AtomicU64,
    connections: AtomicU64,
    abandoned: AtomicU64,
}

impl Upstream {
    /// Listens on a free loopback port.
    pub async fn start() -> io::Result<Self> {
        Self::bind((Ipv4Addr::LOCALHOST, 0).into()).await
    }

    /// Listens on a given address, for an origin that comes back where it was.
    pub async fn bind(addr: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let desk = Arc::new(Desk::new());
        let acceptor = tokio::spawn(accept(listener, desk.clone())).abort_handle();
        Ok(Self {
            addr,
            desk,
            acceptor,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Answers a path (without query) in this way from the next request on.
    pub fn set(&self, path: &str, reply: impl Into<Reply>) {
        self.desk
            .replies
            .lock()
            .insert(path.to_owned(), reply.into());
    }

    /// Answers a path with the default again.
    pub fn clear(&self, path: &str) {
        self.desk.replies.lock().remove(path);
    }

    /// Answers every path that is not set in this way.
    pub fn set_default(&self, reply: impl Into<Reply>) {
        *self.desk.default.lock() = reply.into();
    }

    /// Works on at most so many requests at once, first come first served; may be changed live.
    ///
    /// A request takes its place for its delay and keeps it when its client has gone. It waits for
    /// a place without end: an origin that protects itself would hide whether the node does.
    pub fn set_places(&self, places: usize) {
        self.desk.places.resize(places);
    }

    /// Answers 503 at once from now on to whom it has no place for.
    pub fn refuse_beyond_places(&self) {
        self.desk.refuses.store(true, Ordering::Relaxed);
    }

    /// Closes each connection, unannounced, after so many answers.
    pub fn close_after(&self, requests: u64) {
        self.desk
            .requests_per_connection
            .store(requests, Ordering::Relaxed);
    }

    /// The latest requests, oldest first; at most [`set_journal`](Self::set_journal) of them.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.desk.journal.entries()
    }

    /// Keeps the latest so many requests (1024 unless told); 0 keeps none.
    pub fn set_journal(&self, requests: usize) {
        self.desk.journal.resize(requests);
    }

    /// Requests received so far, kept in the journal or not.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.desk.journal.received()
    }

    /// Connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.desk.connections.load(Ordering::Relaxed)
    }

    /// Requests whose client was seen to leave before the whole answer was sent.
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.desk.abandoned.load(Ordering::Relaxed)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

impl Desk {
    fn new() -> Self {
        Self {
            replies: Mutex::default(),
            default: Mutex::new(Reply::default()),
            places: Arc::new(Places::new(usize::MAX)),
            refuses: AtomicBool::new(false),
            journal: Journal::new(1024),
            requests_per_connection: AtomicU64::new(u64::MAX),
            connections: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
        }
    }

    fn reply_to(&self, path: &str) -> Reply {
        let programmed = self.replies.lock().get(path).cloned();
        programmed.unwrap_or_else(|| self.default.lock().clone())
    }
}

/// Owns the connections: when it is aborted they go with it.
async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = listener.accept().await;
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = accepted else {
            // Out of descriptors, most likely: give the connections time to end.
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        if connections.len() < MAX_CONNECTIONS {
            let id = desk.connections.fetch_add(1, Ordering::Relaxed);
            connections.spawn(connection::serve(stream, id, desk.clone()));
        }
    }
}
