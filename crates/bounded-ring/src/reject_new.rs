//! A lock-free ring for many pushers and many poppers that gives the new item back when full.

use std::fmt;
use std::mem::MaybeUninit;

use crate::backoff::Backoff;
use crate::bug::{Bug, seeded};
use crate::error::PushError;
use crate::padded::Padded;
use crate::pop::Pop;
use crate::pop::sealed::{Source, Taken};
use crate::sync::{AtomicUsize, Ordering, UnsafeCell};
use crate::waiters::Waiters;

/// Lowest bit of a stamp: the cell holds the item of that position. Lowest bit of `tail`: the ring
/// is closed.
///
/// The closed bit sits in `tail` so that a push and a close are ordered by one atomic: after
/// "closed and empty" was seen, no push can have been accepted.
const MARK: usize = 1;
/// From one position to the next, above the mark.
const STEP: usize = 2;

/// A position counts `index · STEP` within its lap and `lap_length` per lap. A cell's stamp is the
/// position of the push it is free for, that plus [`MARK`] while the item is in it, and the same
/// index one lap later once popped.
pub struct RejectNew<T> {
    /// Position of the next pop.
    head: Padded<AtomicUsize>,
    /// Position of the next push, plus [`MARK`] when closed.
    tail: Padded<AtomicUsize>,
    waiters: Waiters,
    cells: Box<[Cell<T>]>,
    /// A power of two above every in-lap position, so that any capacity will do.
    lap_length: usize,
}

struct Cell<T> {
    stamp: AtomicUsize,
    item: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: an item is handed from one thread to another, hence `T: Send`; no reference to it is ever
// shared.
unsafe impl<T: Send> Send for RejectNew<T> {}
// SAFETY: as above; all shared state is atomic, locked, or a cell guarded by its stamp.
unsafe impl<T: Send> Sync for RejectNew<T> {}

impl<T> RejectNew<T> {
    /// A ring that holds `capacity` items, allocated now.
    ///
    /// # Panics
    /// If `capacity` is zero.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a ring holds at least one item");
        let free_for_first_lap = |index| Cell {
            stamp: AtomicUsize::new(index * STEP),
            item: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Self {
            head: Padded(AtomicUsize::new(0)),
            tail: Padded(AtomicUsize::new(0)),
            waiters: Waiters::new(),
            cells: (0..capacity).map(free_for_first_lap).collect(),
            lap_length: (capacity * STEP).next_power_of_two(),
        }
    }

    /// Puts the item at the end, or gives it back at once.
    #[inline]
    pub fn try_push(&self, item: T) -> Result<(), PushError<T>> {
        let tail = match self.claim_push() {
            Ok(tail) => tail,
            Err(Refused::Full) => return Err(PushError::Full(item)),
            Err(Refused::Closed) => return Err(PushError::Closed(item)),
        };
        let cell = self.cell(tail);
        if seeded(Bug::PublishBeforeWrite) {
            cell.stamp.store(tail | MARK, Ordering::Release);
        }
        // SAFETY: the claim made this thread the only one to touch the cell until the stamp says it
        // is full.
        cell.item.with_mut(|slot| unsafe { (*slot).write(item) });
        cell.stamp.store(tail | MARK, Ordering::Release);
        self.waiters.call_one();
        Ok(())
    }

    /// Takes the oldest item, if there is one.
    #[inline]
    pub fn try_pop(&self) -> Option<T> {
        let mut backoff = Backoff::new();
        loop {
            match self.take() {
                Taken::Item(item) => return Some(item),
                Taken::Empty | Taken::Closed => return None,
                // "Nothing" would hide the finished pushes behind the unfinished one.
                Taken::Unfinished => backoff.await_other(),
            }
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
        self.tail.fetch_or(MARK, Ordering::SeqCst);
        self.waiters.call_all();
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.tail.load(Ordering::Acquire) & MARK != 0
    }

    /// How many items are inside; already another number when others push and pop.
    pub fn len(&self) -> usize {
        loop {
            let tail = self.tail.load(Ordering::SeqCst);
            let head = self.head.load(Ordering::SeqCst);
            if self.tail.load(Ordering::SeqCst) == tail {
                return self.distance(head, tail & !MARK);
            }
        }
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.cells.len()
    }

    /// Moves `tail` over a free cell, which is then this thread's to fill.
    #[inline]
    fn claim_push(&self) -> Result<usize, Refused> {
        let mut backoff = Backoff::new();
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            if tail & MARK != 0 {
                return Err(Refused::Closed);
            }
            let stamp = self.cell(tail).stamp.load(Ordering::Acquire);
            if stamp == tail {
                match self.advance(&self.tail, tail) {
                    Ok(()) => return Ok(tail),
                    Err(now) => tail = now,
                }
                backoff.lost_race();
                continue;
            }
            if stamp.wrapping_add(self.lap_length) == tail | MARK && self.is_full_at(tail) {
                return Err(Refused::Full);
            }
            // A popper is about to free the cell, or `tail` was out of date.
            backoff.await_other();
            tail = self.tail.load(Ordering::Relaxed);
        }
    }

    fn is_full_at(&self, tail: usize) -> bool {
        self.head
            .load(Ordering::Acquire)
            .wrapping_add(self.lap_length)
            == tail
    }

    /// What it means that the cell at `head` is not filled.
    fn without_item(&self, head: usize) -> Taken<T> {
        match self.tail.load(Ordering::Acquire) {
            tail if tail == head => Taken::Empty,
            tail if tail == head | MARK => Taken::Closed,
            _ => Taken::Unfinished,
        }
    }

    #[inline]
    fn advance(&self, end: &AtomicUsize, from: usize) -> Result<(), usize> {
        end.compare_exchange_weak(from, self.next(from), Ordering::SeqCst, Ordering::Relaxed)
            .map(drop)
    }

    #[inline]
    fn next(&self, position: usize) -> usize {
        let index = self.index(position);
        if index + 1 < self.cells.len() {
            position + STEP
        } else {
            (position - index * STEP).wrapping_add(self.lap_length)
        }
    }

    #[inline]
    fn index(&self, position: usize) -> usize {
        (position & (self.lap_length - 1)) / STEP
    }

    #[inline]
    fn cell(&self, position: usize) -> &Cell<T> {
        &self.cells[self.index(position)]
    }

    fn distance(&self, head: usize, tail: usize) -> usize {
        let (first, behind_last) = (self.index(head), self.index(tail));
        match first.cmp(&behind_last) {
            std::cmp::Ordering::Less => behind_last - first,
            std::cmp::Ordering::Greater => self.capacity() - first + behind_last,
            std::cmp::Ordering::Equal if head == tail => 0,
            std::cmp::Ordering::Equal => self.capacity(),
        }
    }
}

enum Refused {
    Full,
    Closed,
}

impl<T> Source for RejectNew<T> {
    type Item = T;

    #[inline]
    fn take(&self) -> Taken<T> {
        let mut backoff = Backoff::new();
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            let cell = self.cell(head);
            let stamp = cell.stamp.load(Ordering::Acquire);
            if stamp == head | MARK {
                if let Err(now) = self.advance(&self.head, head) {
                    head = now;
                    backoff.lost_race();
                    continue;
                }
                // SAFETY: the stamp says the item is there, and moving `head` over it made it this
                // thread's alone.
                let item = cell
                    .item
                    .with_mut(|slot| unsafe { (*slot).assume_init_read() });
                cell.stamp
                    .store(head.wrapping_add(self.lap_length), Ordering::Release);
                return Taken::Item(item);
            }
            if stamp == head {
                return self.without_item(head);
            }
            // Another popper was here since: `head` is out of date.
            backoff.lost_race();
            head = self.head.load(Ordering::Relaxed);
        }
    }

    fn has_news(&self) -> bool {
        !self.is_empty() || self.is_closed()
    }

    fn waiters(&self) -> &Waiters {
        &self.waiters
    }
}

impl<T> Drop for RejectNew<T> {
    fn drop(&mut self) {
        while self.try_pop().is_some() {}
    }
}

impl<T> fmt::Debug for RejectNew<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectNew")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("closed", &self.is_closed())
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
