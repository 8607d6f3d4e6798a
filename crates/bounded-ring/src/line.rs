//! A line of sleepers, first come first called; joining, leaving and calling are O(1).

use std::task::Waker;

/// A sleeper's place in its [`Line`]. Numbers ascend in order of arrival, hence also in order of
/// calls.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) number: usize,
    index: usize,
}

/// Sleepers in order of arrival. Entries are reused, so the memory is that of the longest line ever
/// seen.
pub(crate) struct Line<V> {
    entries: Vec<Entry<V>>,
    free: Option<usize>,
    first: Option<usize>,
    last: Option<usize>,
    length: usize,
    next_number: usize,
}

enum Entry<V> {
    Free {
        next: Option<usize>,
    },
    Waiting {
        number: usize,
        before: Option<usize>,
        behind: Option<usize>,
        waker: Waker,
    },
    Called(V),
}

/// What a sleeper takes with it when it leaves.
pub(crate) enum Left<V> {
    /// It had been called, with this word.
    Called(V),
    /// It had not; its waker is returned so that it can be dropped outside of any lock.
    Uncalled(Waker),
}

impl<V> Line<V> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: None,
            first: None,
            last: None,
            length: 0,
            next_number: 0,
        }
    }

    /// How many wait uncalled.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Takes a place at the end.
    pub(crate) fn join(&mut self, waker: Waker) -> Ticket {
        let number = self.next_number;
        self.next_number += 1;
        let index = self.place(Entry::Waiting {
            number,
            before: self.last,
            behind: None,
            waker,
        });
        match self.last {
            Some(last) => self.set_behind(last, Some(index)),
            None => self.first = Some(index),
        }
        self.last = Some(index);
        self.length += 1;
        Ticket { number, index }
    }

    /// Swaps an uncalled sleeper's waker for a newer one; false if it was called already.
    pub(crate) fn refresh(&mut self, ticket: &Ticket, newer: &mut Waker) -> bool {
        match &mut self.entries[ticket.index] {
            Entry::Waiting { waker, .. } => {
                std::mem::swap(waker, newer);
                true
            }
            Entry::Called(_) => false,
            Entry::Free { .. } => unreachable!("a ticket outlives its entry"),
        }
    }

    /// Calls the first sleeper; its entry keeps the word until it leaves.
    pub(crate) fn call_first(&mut self, word: V) -> Option<Waker> {
        let index = self.first?;
        let (_, waker) = self.unlink(index, Entry::Called(word));
        Some(waker)
    }

    /// Calls the first sleeper and ends its stay: its ticket, known by the number, is void.
    pub(crate) fn dismiss_first(&mut self) -> Option<(usize, Waker)> {
        let index = self.first?;
        let dismissed = self.unlink(index, Entry::Free { next: self.free });
        self.free = Some(index);
        Some(dismissed)
    }

    /// Ends a stay, called or not.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> Left<V> {
        let vacated = Entry::Free { next: self.free };
        self.free = Some(ticket.index);
        if let Entry::Waiting { .. } = self.entries[ticket.index] {
            return Left::Uncalled(self.unlink(ticket.index, vacated).1);
        }
        match std::mem::replace(&mut self.entries[ticket.index], vacated) {
            Entry::Called(word) => Left::Called(word),
            Entry::Waiting { .. } | Entry::Free { .. } => {
                unreachable!("a ticket outlives its entry")
            }
        }
    }

    fn place(&mut self, entry: Entry<V>) -> usize {
        let Some(index) = self.free else {
            self.entries.push(entry);
            return self.entries.len() - 1;
        };
        let Entry::Free { next } = std::mem::replace(&mut self.entries[index], entry) else {
            unreachable!("the free list holds free entries only");
        };
        self.free = next;
        index
    }

    /// Takes a waiting entry out of the order and puts `successor` in its stead.
    fn unlink(&mut self, index: usize, successor: Entry<V>) -> (usize, Waker) {
        let entry = std::mem::replace(&mut self.entries[index], successor);
        let Entry::Waiting {
            number,
            before,
            behind,
            waker,
        } = entry
        else {
            unreachable!("only waiting entries are linked");
        };
        match before {
            Some(index) => self.set_behind(index, behind),
            None => self.first = behind,
        }
        match behind {
            Some(index) => self.set_before(index, before),
            None => self.last = before,
        }
        self.length -= 1;
        (number, waker)
    }

    fn set_behind(&mut self, index: usize, to: Option<usize>) {
        if let Entry::Waiting { behind, .. } = &mut self.entries[index] {
            *behind = to;
        }
    }

    fn set_before(&mut self, index: usize, to: Option<usize>) {
        if let Entry::Waiting { before, .. } = &mut self.entries[index] {
            *before = to;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
