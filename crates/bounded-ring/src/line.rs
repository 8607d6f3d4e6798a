//! A line of sleepers, first come first called; joining, leaving and calling are O(1).

use std::task::Waker;

/// Tells a sleeper's entry in its [`Line`]; given back by [`Line::leave`].
#[derive(Debug)]
pub(crate) struct Ticket(usize);

/// Sleepers in order of arrival. Entries are reused, so the memory is that of the longest line ever
/// seen.
pub(crate) struct Line<V> {
    entries: Vec<Entry<V>>,
    free: Option<usize>,
    first: Option<usize>,
    last: Option<usize>,
    length: usize,
}

enum Entry<V> {
    Free {
        next: Option<usize>,
    },
    Waiting {
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
        let entry = Entry::Waiting {
            before: self.last,
            behind: None,
            waker,
        };
        let index = self.place(entry);
        match self.last {
            Some(last) => self.set_behind(last, Some(index)),
            None => self.first = Some(index),
        }
        self.last = Some(index);
        self.length += 1;
        Ticket(index)
    }

    /// Swaps an uncalled sleeper's waker for a newer one; false if it was called already.
    pub(crate) fn refresh(&mut self, ticket: &Ticket, newer: &mut Waker) -> bool {
        match &mut self.entries[ticket.0] {
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
        let Entry::Waiting {
            before,
            behind,
            waker,
        } = std::mem::replace(&mut self.entries[index], Entry::Called(word))
        else {
            unreachable!("only waiting entries are linked");
        };
        self.unlink(before, behind);
        Some(waker)
    }

    /// Ends a stay, called or not.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> Left<V> {
        let vacated = Entry::Free { next: self.free };
        self.free = Some(ticket.0);
        match std::mem::replace(&mut self.entries[ticket.0], vacated) {
            Entry::Called(word) => Left::Called(word),
            Entry::Waiting {
                before,
                behind,
                waker,
            } => {
                self.unlink(before, behind);
                Left::Uncalled(waker)
            }
            Entry::Free { .. } => unreachable!("a ticket outlives its entry"),
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

    fn unlink(&mut self, before: Option<usize>, behind: Option<usize>) {
        match before {
            Some(index) => self.set_behind(index, behind),
            None => self.first = behind,
        }
        match behind {
            Some(index) => self.set_before(index, before),
            None => self.last = before,
        }
        self.length -= 1;
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
