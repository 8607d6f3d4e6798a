//! Waiting for an item, the same way for every ring.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::bug::{Bug, seeded};
use crate::line::Ticket;
use crate::waiters::Heard;
use sealed::{Source, Taken};

/// A ring of this crate, as far as [`Pop`] needs to know it. Not to be implemented elsewhere.
pub trait Ring: Source {}

impl<R: Source> Ring for R {}

pub(crate) mod sealed {
    use crate::waiters::Waiters;

    pub trait Source {
        type Item;

        fn take(&self) -> Taken<Self::Item>;

        /// Whether a waiter would be well advised to look: something is inside, or never will be.
        fn has_news(&self) -> bool;

        fn waiters(&self) -> &Waiters;
    }

    /// What a look at the ring gave.
    pub enum Taken<T> {
        Item(T),
        Empty,
        /// The next item is claimed by a pusher that is not done with it; it will call when it is.
        Unfinished,
        /// Empty for good.
        Closed,
    }
}

/// The next item, or `None` once the ring is closed and empty.
///
/// Dropping it loses nothing: an item leaves the ring only in the poll that returns it, and a
/// wake-up that had already been given to a dropped waiter goes to the next one.
#[must_use = "futures do nothing unless polled"]
pub struct Pop<'a, R: Ring> {
    ring: &'a R,
    /// Held from the first poll that found nothing until the end.
    ticket: Option<Ticket>,
}

impl<'a, R: Ring> Pop<'a, R> {
    pub(crate) fn new(ring: &'a R) -> Self {
        Self { ring, ticket: None }
    }

    fn look(&mut self, heard: Heard) -> Poll<Option<R::Item>> {
        let found = match self.ring.take() {
            Taken::Empty | Taken::Unfinished => return Poll::Pending,
            Taken::Item(item) => Some(item),
            Taken::Closed => None,
        };
        self.withdraw(heard);
        Poll::Ready(found)
    }

    /// Passes a call on: it may have been meant for another item than the one taken, or for none
    /// taken at all. The same holds for the news that the ring is closed.
    fn withdraw(&mut self, heard: Heard) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let called = self.ring.waiters().withdraw(ticket) || heard == Heard::Call;
        if called && self.ring.has_news() && !seeded(Bug::KeepWakeOnCancel) {
            self.ring.waiters().call_one();
        }
    }
}

impl<R: Ring> Future for Pop<'_, R> {
    type Output = Option<R::Item>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(found) = self.look(Heard::Nothing) {
            return Poll::Ready(found);
        }
        let this = &mut *self;
        let heard = this.ring.waiters().enlist(&mut this.ticket, cx.waker());
        if seeded(Bug::SleepWithoutSecondLook) {
            return Poll::Pending;
        }
        this.look(heard)
    }
}

impl<R: Ring> Drop for Pop<'_, R> {
    fn drop(&mut self) {
        self.withdraw(Heard::Nothing);
    }
}

impl<R: Ring> fmt::Debug for Pop<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pop")
            .field("waiting", &self.ticket.is_some())
            .finish()
    }
}
