//! Waiting for an item, the same way for every ring.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::bug::{Bug, seeded};
use crate::line::Ticket;
use sealed::{Source, Taken};

/// A ring of this crate, as far as [`Pop`] needs to know it. Not to be implemented elsewhere.
pub trait Ring: Source {}

impl<R: Source> Ring for R {}

pub(crate) mod sealed {
    use crate::waiters::Waiters;

    pub trait Source {
        type Item;

        fn take(&self) -> Taken<Self::Item>;

        fn is_drained(&self) -> bool;

        fn waiters(&self) -> &Waiters;
    }

    /// What a look at the ring gave.
    pub enum Taken<T> {
        Item(T),
        Empty,
        /// Empty for good.
        Closed,
    }

    impl<T> Taken<T> {
        pub(crate) fn item(self) -> Option<T> {
            match self {
                Self::Item(item) => Some(item),
                Self::Empty | Self::Closed => None,
            }
        }
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

    fn look(&mut self) -> Poll<Option<R::Item>> {
        let found = match self.ring.take() {
            Taken::Empty => return Poll::Pending,
            Taken::Item(item) => Some(item),
            Taken::Closed => None,
        };
        self.withdraw();
        Poll::Ready(found)
    }

    /// A call that came while this waiter already had its item, or had lost interest, was meant for
    /// another item: if one is still there, the next in line has to hear of it.
    fn withdraw(&mut self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let called = self.ring.waiters().withdraw(ticket);
        if called && !self.ring.is_drained() && !seeded(Bug::KeepWakeOnCancel) {
            self.ring.waiters().call_one();
        }
    }
}

impl<R: Ring> Future for Pop<'_, R> {
    type Output = Option<R::Item>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(found) = self.look() {
            return Poll::Ready(found);
        }
        let this = &mut *self;
        this.ring.waiters().enlist(&mut this.ticket, cx.waker());
        if seeded(Bug::SleepWithoutSecondLook) {
            return Poll::Pending;
        }
        this.look()
    }
}

impl<R: Ring> Drop for Pop<'_, R> {
    fn drop(&mut self) {
        self.withdraw();
    }
}

impl<R: Ring> fmt::Debug for Pop<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pop")
            .field("waiting", &self.ticket.is_some())
            .finish()
    }
}
