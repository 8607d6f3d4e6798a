//! Where the tasks of one kind of one group report: the words they write, the wakers they leave.
//!
//! A task refers to its desk without counting the reference, which would cost as much as its books do. So desks are
//! never freed: one whose owner has gone and whose last task has ended is cleared for the next owner. There are as many
//! as were ever in use at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tokio::sync::Notify;

use super::books::{Books, Fate, Published};
use super::parked::Parked;
use super::{ABORTING, RUNNING};
use crate::lock::{self, Lock};

/// Cleared desks.
static SPARE: Lock<Vec<&'static Desk>> = Lock::new(&lock::TASK_DESKS, Vec::new());

pub(super) struct Desk {
    state: AtomicU8,
    /// Whether an end has to look further: somebody waits for the last one, or the owner has gone.
    watched: AtomicBool,
    pub(super) books: Books,
    pub(super) parked: Parked,
    /// Notified when no task is left.
    emptied: Notify,
    /// What to settle after the last end, once the owner has gone.
    orphan: Lock<Option<Arc<Account>>>,
}

/// A desk's books and the metrics they are carried over to.
pub(super) struct Account {
    pub(super) desk: &'static Desk,
    published: Published,
}

/// The right to spawn at a desk. The desk is cleared some time after it was dropped.
pub(super) struct Owner {
    pub(super) account: Arc<Account>,
}

impl Owner {
    /// Takes a desk whose tasks begin in `state`.
    pub(super) fn new(state: u8, published: Published) -> Self {
        let desk = SPARE.lock().pop().unwrap_or_else(Desk::leaked);
        desk.state.store(state, Ordering::SeqCst);
        let account = Arc::new(Account { desk, published });
        Self { account }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let desk = self.account.desk;
        *desk.orphan.lock() = Some(self.account.clone());
        // Said before looking; who ends looks after having ended: one of the two sees the other.
        desk.watched.store(true, Ordering::SeqCst);
        desk.settle();
    }
}

impl Account {
    pub(super) fn publish(&self) {
        self.published.publish(&self.desk.books);
    }
}

impl Desk {
    fn leaked() -> &'static Self {
        Box::leak(Box::new(Self {
            state: AtomicU8::new(RUNNING),
            watched: AtomicBool::new(false),
            books: Books::default(),
            parked: Parked::default(),
            emptied: Notify::new(),
            orphan: Lock::new(&lock::TASK_DESKS, None),
        }))
    }

    #[inline]
    pub(super) fn running(&self) -> bool {
        self.state.load(Ordering::Acquire) == RUNNING
    }

    pub(super) fn aborting(&self) -> bool {
        self.state.load(Ordering::Acquire) == ABORTING
    }

    pub(super) fn raise(&self, state: u8) {
        self.state.fetch_max(state, Ordering::AcqRel);
    }

    /// Counts an end. The task must not have anything else to say: the desk may be another's from then on.
    #[inline]
    pub(super) fn end(&'static self, fate: Fate) {
        self.books.end(fate);
        if self.watched.load(Ordering::SeqCst) {
            self.ended();
        }
    }

    // At a desk that is another's by now this wakes somebody who looks and waits on, or finds nothing to settle.
    #[cold]
    fn ended(&'static self) {
        if self.books.live() == 0 {
            self.emptied.notify_waiters();
        }
        self.settle();
    }

    /// Waits until no task is left.
    pub(super) async fn empty(&self) {
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            // As when the owner goes: said before looking.
            self.watched.store(true, Ordering::SeqCst);
            if self.books.live() == 0 {
                return;
            }
            emptied.await;
        }
    }

    /// Counts whoever is left as aborted; see [`Books::write_off`].
    pub(super) fn write_off(&self) -> u64 {
        let left = self.books.write_off();
        self.emptied.notify_waiters();
        left
    }

    /// Clears the desk if its owner and all its tasks have gone, those written off included.
    fn settle(&'static self) {
        let mut orphan = self.orphan.lock();
        if self.books.unended() != 0 {
            return;
        }
        let Some(account) = orphan.take() else {
            return;
        };
        drop(orphan);
        account.published.close(&self.books);
        self.watched.store(false, Ordering::SeqCst);
        self.books.clear();
        self.parked.clear();
        SPARE.lock().push(self);
    }
}

#[cfg(test)]
mod tests;
