//! A place in line. It is part of the future that waits, so taking one allocates nothing, and whoever
//! was called reads its answer there without a lock.

use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::Duration;

use crate::bug::{Bug, seeded};
use crate::rejection::Rejection;
use crate::sync::{AtomicU32, Ordering, UnsafeCell};

/// What a waiter is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// The slot is the waiter's since then; `epoch` is the breaker's.
    Granted {
        at: Duration,
        epoch: u16,
    },
    Refused(Rejection),
}

/// Until `called` is set, the rest is the line's and touched under its lock only. From then on it
/// is the waiter's alone, and may be gone at any moment.
pub(crate) struct Seat {
    called: AtomicU32,
    inner: UnsafeCell<Inner>,
    /// The neighbours point here.
    _pinned: PhantomPinned,
}

/// How neighbours find each other.
pub(crate) type Link = Option<NonNull<Seat>>;

pub(crate) struct Inner {
    pub(crate) before: Link,
    pub(crate) behind: Link,
    pub(crate) since: Duration,
    pub(crate) waker: Option<Waker>,
    answer: Option<Answer>,
}

impl Seat {
    /// A seat that calls nobody yet.
    #[inline]
    pub(crate) fn new() -> Self {
        let inner = Inner {
            before: None,
            behind: None,
            since: Duration::ZERO,
            waker: None,
            answer: None,
        };
        Self {
            called: AtomicU32::new(0),
            inner: UnsafeCell::new(inner),
            _pinned: PhantomPinned,
        }
    }

    /// Sets whom a new seat calls. Apart from `new`, so that the waker is written where it stays:
    /// moved, its two words would be read as one before they have reached the cache.
    #[inline]
    pub(crate) fn will_wake(&mut self, waker: &Waker) {
        let waker = waker.clone();
        // SAFETY: the seat is borrowed alone, so no line knows it.
        unsafe { self.with(|inner| inner.waker = Some(waker)) };
    }

    /// What its owner has been told; `None` while it waits.
    #[inline]
    pub(crate) fn answer(&self) -> Option<Answer> {
        if !self.is_called() {
            return None;
        }
        // SAFETY: the line let go of it before it set the mark, and the owner is here.
        self.inner.with(|inner| unsafe { (*inner).answer })
    }

    pub(crate) fn is_called(&self) -> bool {
        self.called.load(Ordering::Acquire) != 0
    }

    /// The last that the line does to a seat: its owner may take it away as soon as it knows.
    ///
    /// # Safety
    /// The seat is uncalled and in no line any more, and the caller holds the lock of the one it
    /// was in.
    pub(crate) unsafe fn call(&self, answer: Answer) {
        if seeded(Bug::CallBeforeAnswer) {
            self.called.store(1, Ordering::Release);
        }
        // SAFETY: as the caller promises.
        unsafe { self.with(|inner| inner.answer = Some(answer)) };
        self.called.store(1, Ordering::Release);
    }

    /// # Safety
    /// The seat is uncalled, and the caller holds the lock of its line, or the line does not know
    /// the seat yet. `access` does not come back to this seat.
    pub(crate) unsafe fn with<R>(&self, access: impl FnOnce(&mut Inner) -> R) -> R {
        // SAFETY: as the caller promises, nobody else has access meanwhile.
        self.inner.with_mut(|inner| access(unsafe { &mut *inner }))
    }
}

// SAFETY: what is inside is handed from thread to thread by the line's lock and by `called`.
unsafe impl Send for Seat {}
// SAFETY: as above.
unsafe impl Sync for Seat {}
