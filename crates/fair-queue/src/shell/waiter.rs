//! One who waits, as the line sees it. It is part of the future, so waiting allocates nothing, and
//! whoever was answered reads the answer there without a lock.

use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::task::Waker;

use crate::bug::{Bug, seeded};
use crate::items::Handle;
use crate::sync::{AtomicU32, Ordering, UnsafeCell};
use crate::work::Refused;

/// What a waiter is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Granted,
    Refused(Refused),
}

const WAITING: u32 = 0;
const GRANTED: u32 = 1;
/// Refusals follow, in the order of [`Refused::ALL`].
const REFUSED: u32 = 2;

impl Answer {
    fn code(self) -> u32 {
        match self {
            Self::Granted => GRANTED,
            Self::Refused(why) => REFUSED + why as u32,
        }
    }

    fn of(code: u32) -> Option<Self> {
        match code {
            WAITING => None,
            GRANTED => Some(Self::Granted),
            _ => Some(Self::Refused(Refused::ALL[(code - REFUSED) as usize])),
        }
    }
}

/// Until there is an answer, the rest is the line's and touched under its lock only. From then on
/// it is the owner's alone, and may be gone at any moment.
pub(super) struct Waiter {
    answer: AtomicU32,
    inner: UnsafeCell<Inner>,
    /// Touched by the line as long as it may touch the waiter, and by the owner when it takes it away: a model sees if
    /// the two meet. In the waiter itself it could be gone by then, with anything in its place.
    #[cfg(loom)]
    life: std::sync::Arc<UnsafeCell<()>>,
    /// The line points here.
    _pinned: PhantomPinned,
}

#[cfg(loom)]
impl Drop for Waiter {
    fn drop(&mut self) {
        self.life.with_mut(|_| ());
    }
}

struct Inner {
    waker: Option<Waker>,
    /// Its place in the queue.
    handle: Option<Handle>,
}

impl Waiter {
    /// One who has that waker called.
    #[inline]
    pub(super) fn new(waker: Waker) -> Self {
        let inner = Inner {
            waker: Some(waker),
            handle: None,
        };
        Self {
            answer: AtomicU32::new(WAITING),
            inner: UnsafeCell::new(inner),
            #[cfg(loom)]
            life: std::sync::Arc::new(UnsafeCell::new(())),
            _pinned: PhantomPinned,
        }
    }

    /// What its owner has been told; `None` while it waits.
    #[inline]
    pub(super) fn answer(&self) -> Option<Answer> {
        Answer::of(self.answer.load(Ordering::Acquire))
    }

    /// # Safety
    /// There is no answer yet, and the caller holds the lock of the line. `access` does not come
    /// back here.
    unsafe fn with<R>(&self, access: impl FnOnce(&mut Inner) -> R) -> R {
        // SAFETY: as the caller promises, nobody else has access meanwhile.
        self.inner.with_mut(|inner| access(unsafe { &mut *inner }))
    }
}

/// A waiter in line, pinned where its owner has it until it was answered or has left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller(NonNull<Waiter>);

// SAFETY: the line's lock and the answer hand what it points to from thread to thread.
unsafe impl Send for Caller {}

/// Each of these is called under the lock of the line.
impl Caller {
    /// # Safety
    /// The waiter stays where it is until it is answered or taken out of the line, and is used by
    /// one line only.
    pub(super) unsafe fn of(waiter: &Waiter) -> Self {
        Self(NonNull::from(waiter))
    }

    /// # Safety
    /// The lock is held, and the waiter has no answer.
    pub(super) unsafe fn set_handle(self, handle: Handle) {
        // SAFETY: it is there as long as it has no answer; the rest is the caller's promise.
        unsafe { self.0.as_ref().with(|inner| inner.handle = Some(handle)) };
    }

    /// The last that the line does to a waiter: its owner may take it away as soon as it knows.
    ///
    /// # Safety
    /// The lock is held, and the waiter has no answer.
    pub(super) unsafe fn answer(self, answer: Answer) -> Option<Waker> {
        // SAFETY: it is there as long as it has no answer; the rest is the caller's promise.
        unsafe {
            let waiter = self.0.as_ref();
            #[cfg(loom)]
            let life = waiter.life.clone();
            if seeded(Bug::AnswerBeforeWaker) {
                waiter.answer.store(answer.code(), Ordering::Release);
            }
            #[cfg(loom)]
            life.with_mut(|_| ());
            let waker = waiter.with(|inner| inner.waker.take());
            waiter.answer.store(answer.code(), Ordering::Release);
            waker
        }
    }

    /// Whether an answer would wake the task of that waker.
    ///
    /// # Safety
    /// The lock is held, and the waiter has no answer.
    pub(super) unsafe fn would_wake(self, newer: &Waker) -> bool {
        let same = |waker: &Waker| waker.will_wake(newer);
        // SAFETY: it is there as long as it has no answer; the rest is the caller's promise.
        unsafe {
            self.0
                .as_ref()
                .with(|inner| inner.waker.as_ref().is_some_and(same))
        }
    }

    /// # Safety
    /// The lock is held, and the waiter has no answer.
    pub(super) unsafe fn replace_waker(self, newer: &mut Waker) {
        let swap = |waker: &mut Waker| std::mem::swap(waker, newer);
        // SAFETY: it is there as long as it has no answer; the rest is the caller's promise.
        unsafe {
            self.0.as_ref().with(|inner| {
                inner.waker.as_mut().map(swap);
            });
        }
    }

    /// What it leaves behind: its waker, to be dropped after the lock, and its place.
    ///
    /// # Safety
    /// The lock is held, and the waiter has no answer.
    pub(super) unsafe fn leave(self) -> (Option<Waker>, Option<Handle>) {
        // SAFETY: it is there as long as it has no answer; the rest is the caller's promise.
        unsafe {
            self.0
                .as_ref()
                .with(|inner| (inner.waker.take(), inner.handle))
        }
    }
}

// SAFETY: what is inside is handed from thread to thread by the line's lock and by the answer.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiter")
            .field("answer", &self.answer())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn every_answer_comes_out_as_it_went_in() {
        let refusals = Refused::ALL.map(Answer::Refused);
        for answer in [Answer::Granted].into_iter().chain(refusals) {
            assert_eq!(Answer::of(answer.code()), Some(answer));
        }
        assert_eq!(Answer::of(WAITING), None);
    }
}
