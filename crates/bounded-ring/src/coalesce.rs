//! A ring in which a key has at most one pending item: a newer one takes its place.

use std::fmt;
use std::hash::Hash;

use crate::bug::{Bug, seeded};
use crate::error::PushError;
use crate::pop::Pop;
use crate::pop::sealed::{Source, Taken};
use crate::sync::{Mutex, lock};
use crate::waiters::Waiters;
use keyed::Keyed;

mod keyed;

/// A bounded queue of the newest item per key; with `K = ()`, a cell for the newest item alone.
pub struct Coalesce<K, T> {
    state: Mutex<State<K, T>>,
    waiters: Waiters,
    capacity: usize,
}

struct State<K, T> {
    items: Keyed<K, T>,
    closed: bool,
}

/// What became of an accepted item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed<T> {
    /// It stands at the end.
    Queued,
    /// It took the place of this older one.
    Replaced(T),
}

impl<K: Eq + Hash, T> Coalesce<K, T> {
    /// A ring that holds `capacity` keys, allocated now.
    ///
    /// # Panics
    /// If `capacity` is zero.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a ring holds at least one item");
        let state = State {
            items: Keyed::new(capacity),
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            waiters: Waiters::new(),
            capacity,
        }
    }

    /// Replaces the pending item of the same key where it stands, or puts the item at the end.
    pub fn push(&self, key: K, item: T) -> Result<Pushed<T>, PushError<T>> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(PushError::Closed(item));
        }
        let found = state.items.find(&key);
        if seeded(Bug::FindAndReplaceApart) {
            drop(state);
            state = lock(&self.state);
        }
        if let Some(index) = found {
            // Its first push has called somebody already.
            return Ok(Pushed::Replaced(state.items.replace(index, item)));
        }
        if state.items.len() == self.capacity {
            return Err(PushError::Full(item));
        }
        state.items.append(key, item);
        drop(state);
        self.waiters.call_one();
        Ok(Pushed::Queued)
    }

    /// Takes the item that has stood longest, if there is one.
    pub fn try_pop(&self) -> Option<T> {
        match self.take() {
            Taken::Item(item) => Some(item),
            Taken::Empty | Taken::Unfinished | Taken::Closed => None,
        }
    }

    /// Waits for the item that has stood longest; `None` once closed and empty.
    pub fn pop(&self) -> Pop<'_, Self> {
        Pop::new(self)
    }

    /// Wakes one more of those who wait, for the case that who was woken does not come: a thread that
    /// is held up takes the call with it.
    pub fn nudge(&self) {
        self.waiters.nudge();
    }

    /// Refuses all pushes from now on; what is inside can still be popped.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.waiters.call_all();
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// How many items are inside.
    pub fn len(&self) -> usize {
        lock(&self.state).items.len()
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<K: Eq + Hash, T> Source for Coalesce<K, T> {
    type Item = T;

    fn take(&self) -> Taken<T> {
        let mut state = lock(&self.state);
        // The key comes out with the item, to be dropped after the lock.
        let popped = state.items.pop();
        let closed = state.closed;
        drop(state);
        match popped {
            Some((_key, item)) => Taken::Item(item),
            None if closed => Taken::Closed,
            None => Taken::Empty,
        }
    }

    fn has_news(&self) -> bool {
        let state = lock(&self.state);
        state.items.len() > 0 || state.closed
    }

    fn waiters(&self) -> &Waiters {
        &self.waiters
    }
}

impl<K: Eq + Hash, T> fmt::Debug for Coalesce<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coalesce")
            .field("len", &self.len())
            .field("capacity", &self.capacity)
            .field("closed", &self.is_closed())
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
