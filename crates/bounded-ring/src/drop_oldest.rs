//! A ring that makes room for the new item by giving back the oldest.
//!
//! Under a lock rather than lock-free: eviction moves both ends at once, and the lock is held for a
//! few stores.

use std::collections::VecDeque;
use std::fmt;

use crate::bug::{Bug, seeded};
use crate::error::Closed;
use crate::pop::Pop;
use crate::pop::sealed::{Source, Taken};
use crate::sync::{Mutex, lock};
use crate::waiters::Waiters;

/// A bounded queue of the newest items.
pub struct DropOldest<T> {
    state: Mutex<State<T>>,
    waiters: Waiters,
    capacity: usize,
}

struct State<T> {
    /// Allocated once; never longer than the capacity.
    items: VecDeque<T>,
    closed: bool,
}

impl<T> DropOldest<T> {
    /// A ring that holds `capacity` items, allocated now.
    ///
    /// # Panics
    /// If `capacity` is zero.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a ring holds at least one item");
        let state = State {
            items: VecDeque::with_capacity(capacity),
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            waiters: Waiters::new(),
            capacity,
        }
    }

    /// Puts the item at the end; gives back the oldest one if it had to go.
    pub fn push(&self, item: T) -> Result<Option<T>, Closed<T>> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(Closed(item));
        }
        let evicted = if state.items.len() == self.capacity {
            state.items.pop_front()
        } else {
            None
        };
        if seeded(Bug::EvictAndPushApart) {
            drop(state);
            state = lock(&self.state);
        }
        state.items.push_back(item);
        drop(state);
        self.waiters.call_one();
        Ok(evicted)
    }

    /// Takes the oldest item, if there is one.
    pub fn try_pop(&self) -> Option<T> {
        match self.take() {
            Taken::Item(item) => Some(item),
            Taken::Empty | Taken::Unfinished | Taken::Closed => None,
        }
    }

    /// Waits for the oldest item; `None` once closed and empty.
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

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<T> Source for DropOldest<T> {
    type Item = T;

    fn take(&self) -> Taken<T> {
        let mut state = lock(&self.state);
        match state.items.pop_front() {
            Some(item) => Taken::Item(item),
            None if state.closed => Taken::Closed,
            None => Taken::Empty,
        }
    }

    fn has_news(&self) -> bool {
        let state = lock(&self.state);
        !state.items.is_empty() || state.closed
    }

    fn waiters(&self) -> &Waiters {
        &self.waiters
    }
}

impl<T> fmt::Debug for DropOldest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropOldest")
            .field("len", &self.len())
            .field("capacity", &self.capacity)
            .field("closed", &self.is_closed())
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
