//! What goes on for long: how much of it there is, of each tenant and of all together.

use std::sync::Arc;

use hashbrown::HashMap;
use kernel::lock::{Lock, LockSpec};
use kernel::metrics::Gauge;

use crate::reject::Refusal;

/// Guards who has how many streams open.
pub(crate) static STREAMS: LockSpec = LockSpec {
    name: "gateway_streams",
    level: 61,
    doc: "how many streams each tenant has open; asked when one begins or ends",
};

/// Bodies of one tenant that may be waited for at once, however many streams it has or may have.
const LEAST_BODIES: u32 = 64;

/// How many there may be at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Most {
    pub(crate) of_tenant: u32,
    pub(crate) in_all: u32,
}

/// What goes on for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An answer, or an upgraded connection.
    Stream,
    /// A small body of a request, which has no place until all of it is here.
    Body,
}

/// The event streams, tunnels and slow bodies of the node.
pub(crate) struct Streams(Arc<Book>);

struct Book {
    open: Lock<Open>,
    shown: Gauge,
}

#[derive(Default)]
struct Open {
    /// Only of tenants that have some.
    of: HashMap<u64, Own>,
    in_all: u32,
}

/// What one tenant has.
#[derive(Clone, Copy, Default)]
struct Own {
    all: u32,
    bodies: u32,
}

impl Open {
    /// Bodies are requests as well, and bounded with them in all.
    fn has_room(&self, tenant: u64, kind: Kind, most: Most) -> Result<(), Refusal> {
        if kind == Kind::Stream && self.in_all >= most.in_all {
            return Err(Refusal::NodeBusy);
        }
        let own = self.of.get(&tenant).copied().unwrap_or_default();
        let spared = kind == Kind::Body && own.bodies < LEAST_BODIES;
        match spared || own.all < most.of_tenant {
            true => Ok(()),
            false => Err(Refusal::StreamsFull),
        }
    }
}

impl Streams {
    pub(crate) fn new(shown: Gauge) -> Self {
        Self(Arc::new(Book {
            open: Lock::new(&STREAMS, Open::default()),
            shown,
        }))
    }

    /// Whether a tenant may have one more stream.
    pub(crate) fn have_room(&self, tenant: u64, most: Most) -> Result<(), Refusal> {
        self.0.open.lock().has_room(tenant, Kind::Stream, most)
    }

    /// One more of a tenant, if it may have one.
    pub(crate) fn open(&self, tenant: u64, kind: Kind, most: Most) -> Result<Stream, Refusal> {
        let mut open = self.0.open.lock();
        open.has_room(tenant, kind, most)?;
        let own = open.of.entry(tenant).or_default();
        own.all += 1;
        own.bodies += u32::from(kind == Kind::Body);
        open.in_all += 1;
        self.0.shown.inc();
        let book = self.0.clone();
        Ok(Stream { book, tenant, kind })
    }
}

/// One that is open until this is dropped.
pub(crate) struct Stream {
    book: Arc<Book>,
    tenant: u64,
    kind: Kind,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.book.shown.dec();
        let mut open = self.book.open.lock();
        open.in_all -= 1;
        if let Some(own) = open.of.get_mut(&self.tenant) {
            own.all -= 1;
            own.bodies -= u32::from(self.kind == Kind::Body);
            if own.all == 0 {
                open.of.remove(&self.tenant);
            }
        }
    }
}
