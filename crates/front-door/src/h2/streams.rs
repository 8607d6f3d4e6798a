//! The streams of a connection: each a request that is worked on, its body on the way in, its answer on the way out.

use std::pin::Pin;
use std::task::Waker;

use bytes::Bytes;
use http::HeaderMap;
use http2_wire::frame::WINDOW_MAX;

use super::inflow::Inflow;

/// How much may be sent before the other side says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window(i64);

/// More than a window can be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overflow;

impl Window {
    pub(super) fn new(bytes: u32) -> Self {
        Self(bytes.into())
    }

    /// Bytes that may go; none while it is below zero, where a change of settings can bring it.
    pub(super) fn room(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }

    pub(super) fn grow(&mut self, by: i64) -> Result<(), Overflow> {
        self.0 += by;
        match self.0 > WINDOW_MAX.into() {
            true => Err(Overflow),
            false => Ok(()),
        }
    }

    /// Uses some of it up; `false` if that was too much.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        self.0 -= bytes as i64;
        self.0 >= 0
    }
}

/// What follows the piece of an answer that is on its way.
#[derive(Debug, Default)]
pub(super) enum Tail {
    /// Whatever comes next.
    #[default]
    Open,
    /// Nothing.
    End,
    /// Nothing, which has been said.
    Said,
    /// Fields.
    Trailers(Box<HeaderMap>),
    /// Nothing, and that is not the end of it.
    Broken,
}

/// A request and its answer.
pub(super) struct Stream<W> {
    pub(super) id: u32,
    /// Who works on it, until all of the answer is here.
    pub(super) work: Option<Pin<Box<W>>>,
    /// Where the body of the request goes, until all of it has come.
    pub(super) inflow: Option<Inflow>,
    /// How much of that may come.
    pub(super) room: Window,
    /// How much of it is still to come, where that was said.
    pub(super) left: Option<u64>,
    /// The peer has said all it had to say.
    pub(super) heard: bool,
    /// Somebody has looked at the request.
    pub(super) seen: bool,
    /// Only the head of the answer is wanted.
    pub(super) bodiless: bool,
    /// The head of the answer has been said.
    pub(super) told: bool,
    /// How much of the answer may go.
    pub(super) window: Window,
    /// How much of it is still to go, where that was said.
    pub(super) promised: Option<u64>,
    /// A piece of it, or the end of one.
    pub(super) rest: Bytes,
    /// What follows it, where that is too much to be copied.
    pub(super) behind: Bytes,
    pub(super) tail: Tail,
    /// Bytes of its body that have gone.
    pub(super) sent: u64,
    /// Since which tick the peer does not take it; 0 for not at all.
    pub(super) stalled: u32,
    /// At which tick the piece was here, or the service was last told how slowly it goes.
    pub(super) here_since: u32,
    /// How much had gone then.
    pub(super) sent_before: u64,
    /// Why that may not have been the peer's doing.
    pub(super) excuse: Option<Excuse>,
}

/// Why a stream may stand still though its peer would take it, when that was first seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Excuse {
    /// The tick of that.
    pub(super) since: u32,
    /// What the peer said lay unread until so much had gone out on the connection.
    pub(super) gone: u64,
    /// What we said was on its way until the peer had taken so much.
    pub(super) taken: u64,
}

impl<W> Stream<W> {
    /// So much goes. Whoever takes all there is, or enough of it, does not stand still.
    pub(super) fn goes(&mut self, bytes: usize, all: bool, enough: u64) {
        self.sent += bytes as u64;
        if all || self.sent - self.sent_before >= enough {
            (self.stalled, self.excuse) = (0, None);
        }
    }

    /// The peer takes no more. How long that lasts is counted from the first time, until it has taken enough.
    pub(super) fn stalls(&mut self, now: u32) -> bool {
        let first = self.stalled == 0;
        if first {
            (self.stalled, self.sent_before) = (now, self.sent);
        }
        first
    }

    /// All of the answer is here: nobody works on it any more.
    pub(super) fn ends_with(&mut self, tail: Tail) {
        (self.tail, self.work) = (tail, None);
    }
}

/// All of them, each in a slot of its own as long as it lives.
pub(super) struct Streams<W> {
    /// Whose slot it is; 0 for nobody's. Apart from the rest, since it is what is searched.
    ids: Vec<u32>,
    streams: Vec<Option<Stream<W>>>,
    ropes: Vec<Waker>,
    open: usize,
}

impl<W> Streams<W> {
    pub(super) fn new() -> Self {
        Self {
            ids: Vec::new(),
            streams: Vec::new(),
            ropes: Vec::new(),
            open: 0,
        }
    }

    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// Where the next one will be.
    pub(super) fn vacant(&self) -> usize {
        let vacant = match self.open == self.ids.len() {
            true => None,
            false => self.ids.iter().position(|id| *id == 0),
        };
        vacant.unwrap_or(self.ids.len())
    }

    /// Puts one where there is nobody; `rope` makes what wakes it, once for each slot.
    pub(super) fn insert(&mut self, slot: usize, stream: Stream<W>, rope: impl FnOnce() -> Waker) {
        self.open += 1;
        if slot < self.ids.len() {
            self.ids[slot] = stream.id;
            self.streams[slot] = Some(stream);
        } else {
            self.ids.push(stream.id);
            self.streams.push(Some(stream));
            self.ropes.push(rope());
        }
    }

    /// Most that comes is about who came last.
    pub(super) fn find(&self, id: u32) -> Option<usize> {
        self.ids.iter().rposition(|other| *other == id)
    }

    pub(super) fn get(&mut self, slot: usize) -> Option<&mut Stream<W>> {
        self.streams.get_mut(slot)?.as_mut()
    }

    /// One of them, and what wakes it.
    pub(super) fn get_with_rope(&mut self, slot: usize) -> Option<(&mut Stream<W>, &Waker)> {
        let stream = self.streams.get_mut(slot)?.as_mut()?;
        Some((stream, self.ropes.get(slot)?))
    }

    pub(super) fn remove(&mut self, slot: usize) -> Option<Stream<W>> {
        let removed = self.streams.get_mut(slot)?.take()?;
        self.ids[slot] = 0;
        self.open -= 1;
        Some(removed)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Stream<W>)> {
        let slots = self.streams.iter_mut().enumerate();
        slots.filter_map(|(slot, stream)| stream.as_mut().map(|stream| (slot, stream)))
    }

    /// Gives up the memory of those who were; nobody may be there.
    pub(super) fn shrink(&mut self) {
        debug_assert_eq!(self.open, 0, "somebody is there");
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests;
