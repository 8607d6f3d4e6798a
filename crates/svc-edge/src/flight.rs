//! One fetch for all who want the same: they come and go, it lands once.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use hashbrown::HashMap;
use http::HeaderMap;
use kernel::lock::{Lock, LockSpec};
use kernel::pool::Ticket;

use crate::origin::entry::{Entry, Head};
use crate::origin::failure::Failure;

pub(crate) use board::{Board, Course, FLIGHTS};
pub(crate) use fill::{Desk, FILLS, FILLS_AGAIN, Fill, Filling, POOL, POOL_SIZE};
pub(crate) use reader::Reader;
pub(crate) use room::Room;

mod afar;
mod board;
mod fill;
mod intake;
mod reader;
mod retry;
mod room;
pub(crate) mod sending;

/// Guards how far a fetch has come.
pub(crate) static FLIGHT: LockSpec = LockSpec {
    name: "edge_flight",
    level: 72,
    doc: "what has come of one fetch, and who waits for more; taken for as long as a piece is noted",
};

/// A fetch.
pub(crate) struct Flight {
    state: Lock<State>,
    /// What it brings is out of date already: it was purged or changed while under way.
    void: AtomicBool,
    /// Something past its time came out of the depot and is kept now.
    brought: AtomicBool,
    /// What the origin is sent of the headers of who asked first.
    sent: OnceLock<HeaderMap>,
    waiting: AtomicU32,
    room: Arc<Room>,
    /// Bytes of its pieces, given back with the last who holds it.
    held: AtomicU64,
    /// Dropping it would end the work, whoever waits.
    ticket: Lock<Option<Ticket<()>>>,
}

/// Guards the claim to a fetch's work.
pub(crate) static TICKET: LockSpec = LockSpec {
    name: "edge_ticket",
    level: 73,
    doc: "the claim to the worker of one fetch, kept for as long as the fetch is",
};

#[derive(Default)]
struct State {
    head: Option<Arc<Head>>,
    pieces: Vec<Bytes>,
    landed: Option<Landed>,
    /// The headers for who asked first, where others get fewer.
    own: Option<HeaderMap>,
    wakers: HashMap<u64, Waker>,
    visitors: u64,
}

/// How it ended.
#[derive(Clone)]
enum Landed {
    Whole(Arc<Entry>),
    /// It was kept elsewhere, and no origin was asked.
    Brought(Arc<Entry>),
    Failed(Failure),
}

/// What somebody who waited gets.
pub(crate) enum Arrival {
    /// All of it.
    Whole(Arc<Entry>),
    /// All of it, out of the depot.
    Brought(Arc<Entry>),
    /// The head, and a body that is still coming.
    Coming(Arc<Head>, Reader),
    /// Nothing.
    Failed(Failure),
}

impl Flight {
    pub(crate) fn new(room: &Arc<Room>) -> Arc<Self> {
        Arc::new(Self {
            state: Lock::new(&FLIGHT, State::default()),
            void: AtomicBool::new(false),
            brought: AtomicBool::new(false),
            sent: OnceLock::new(),
            waiting: AtomicU32::new(0),
            room: room.clone(),
            held: AtomicU64::new(0),
            ticket: Lock::new(&TICKET, None),
        })
    }

    pub(crate) fn keep(&self, ticket: Ticket<()>) {
        *self.ticket.lock() = Some(ticket);
    }

    /// A place among those who wait, if there is one among `most`.
    pub(crate) fn wait(self: &Arc<Self>, most: u32) -> Option<Waiting> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(self.clone());
        (before < most).then_some(waiting)
    }

    /// Notes with which headers the origin is asked.
    pub(crate) fn set_out(&self, sent: &HeaderMap) {
        let _set_out_before = self.sent.set(sent.clone());
    }

    /// Whether the origin could not tell a request with these headers from the one it gets.
    pub(crate) fn is_asked_with(&self, sent: &HeaderMap) -> bool {
        self.sent.get() == Some(sent)
    }

    /// What it brings is not to be kept.
    pub(crate) fn make_void(&self) {
        self.void.store(true, Ordering::Release);
    }

    pub(crate) fn is_void(&self) -> bool {
        self.void.load(Ordering::Acquire)
    }

    /// There is something to stand in for it by now.
    pub(crate) fn note_brought(&self) {
        self.brought.store(true, Ordering::Release);
    }

    pub(crate) fn has_brought(&self) -> bool {
        self.brought.load(Ordering::Acquire)
    }

    /// Whether somebody has seen something of it, so that it cannot begin again.
    pub(crate) fn has_begun(&self) -> bool {
        let state = self.state.lock();
        state.head.is_some() || state.landed.is_some()
    }

    /// Shows the head; the body follows.
    pub(crate) fn show(&self, head: Arc<Head>) {
        self.change(|state| state.head = Some(head));
    }

    /// Notes a piece of the body, if there is room for it.
    pub(crate) fn piece(&self, piece: Bytes) -> Result<(), Failure> {
        let bytes = piece.len() as u64;
        if !self.room.take(bytes) {
            return Err(Failure::Queue);
        }
        self.held.fetch_add(bytes, Ordering::Relaxed);
        self.change(|state| state.pieces.push(piece));
        Ok(())
    }

    /// The body so far, in one piece.
    pub(crate) fn body(&self) -> Bytes {
        let mut state = self.state.lock();
        if let [only] = &state.pieces[..] {
            return only.clone();
        }
        let length = state.pieces.iter().map(Bytes::len).sum();
        let mut whole = BytesMut::with_capacity(length);
        for piece in &state.pieces {
            whole.extend_from_slice(piece);
        }
        let whole = whole.freeze();
        // Readers count pieces, so that theirs stay; they become parts of the whole, and the copies go.
        let mut at = 0;
        for piece in &mut state.pieces {
            let end = at + piece.len();
            *piece = whole.slice(at..end);
            at = end;
        }
        whole
    }

    /// Sets aside the headers that only who asked first may see.
    pub(crate) fn set_aside(&self, headers: HeaderMap) {
        self.state.lock().own = Some(headers);
    }

    /// Those headers, for who asked first.
    pub(crate) fn own_headers(&self) -> Option<HeaderMap> {
        self.state.lock().own.take()
    }

    /// Forgets the pieces of a try that nobody has seen anything of.
    pub(crate) fn clear(&self) {
        self.change(|state| state.pieces.clear());
        self.room.give_back(self.held.swap(0, Ordering::Relaxed));
    }

    pub(crate) fn land(&self, entry: Arc<Entry>) {
        self.end(Landed::Whole(entry));
    }

    pub(crate) fn bring(&self, entry: Arc<Entry>) {
        self.end(Landed::Brought(entry));
    }

    pub(crate) fn fail(&self, failure: Failure) {
        self.end(Landed::Failed(failure));
    }

    fn end(&self, landed: Landed) {
        self.change(|state| {
            state.landed.get_or_insert(landed);
        });
    }

    fn change(&self, edit: impl FnOnce(&mut State)) {
        let wakers = {
            let mut state = self.state.lock();
            edit(&mut state);
            std::mem::take(&mut state.wakers)
        };
        for (_, waker) in wakers {
            waker.wake();
        }
    }

    /// A number by which a waker is found again.
    fn visitor(&self) -> u64 {
        let mut state = self.state.lock();
        state.visitors += 1;
        state.visitors
    }

    fn forget(&self, visitor: u64) {
        self.state.lock().wakers.remove(&visitor);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.room.give_back(*self.held.get_mut());
    }
}

impl State {
    fn wake_later(&mut self, visitor: u64, cx: &Context<'_>) {
        self.wakers.insert(visitor, cx.waker().clone());
    }
}

/// Somebody who waits.
pub(crate) struct Waiting(Arc<Flight>);

impl Waiting {
    /// Waits until there is something to be given.
    pub(crate) async fn arrival(&self) -> Arrival {
        let flight = &self.0;
        let visit = Visit {
            flight,
            number: flight.visitor(),
        };
        poll_fn(|cx| {
            let mut state = flight.state.lock();
            let arrival = match (&state.landed, &state.head) {
                (Some(Landed::Whole(entry)), _) => Arrival::Whole(entry.clone()),
                (Some(Landed::Brought(entry)), _) => Arrival::Brought(entry.clone()),
                (Some(Landed::Failed(failure)), _) => Arrival::Failed(*failure),
                (None, Some(head)) => {
                    let head = head.clone();
                    drop(state);
                    return Poll::Ready(Arrival::Coming(head, Reader::new(flight)));
                }
                (None, None) => {
                    state.wake_later(visit.number, cx);
                    return Poll::Pending;
                }
            };
            Poll::Ready(arrival)
        })
        .await
    }

    /// Waits for all of it, though its head is there.
    pub(crate) async fn whole(&self) -> Result<Arc<Entry>, Failure> {
        let flight = &self.0;
        let visit = Visit {
            flight,
            number: flight.visitor(),
        };
        poll_fn(|cx| {
            let mut state = flight.state.lock();
            match &state.landed {
                Some(Landed::Whole(entry) | Landed::Brought(entry)) => {
                    Poll::Ready(Ok(entry.clone()))
                }
                Some(Landed::Failed(failure)) => Poll::Ready(Err(*failure)),
                None => {
                    state.wake_later(visit.number, cx);
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A wait under way; whoever leaves is not woken any more.
struct Visit<'a> {
    flight: &'a Flight,
    number: u64,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.flight.forget(self.number);
    }
}

#[cfg(test)]
mod tests;
