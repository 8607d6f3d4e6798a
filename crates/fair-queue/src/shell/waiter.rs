//! One who waits, as the line sees it. It is part of the future, so waiting allocates nothing, and
//! whoever was answered reads the answer there without a lock.

use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::task::Waker;

use crate::bug::{Bug, seeded};
use crate::sync::{AtomicU32, Ordering};
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

/// Where its owner finds the answer. The line points here until then; from then on it is the owner's alone, and may be
/// gone at any moment.
pub(super) struct Waiter {
    answer: AtomicU32,
    /// Touched by the line as long as it may touch the waiter, and by the owner when it takes it away: a model sees if
    /// the two meet. In the waiter itself it could be gone by then, with anything in its place.
    #[cfg(loom)]
    life: std::sync::Arc<crate::sync::UnsafeCell<()>>,
    _pinned: PhantomPinned,
}

#[cfg(loom)]
impl Drop for Waiter {
    fn drop(&mut self) {
        self.life.with_mut(|_| ());
    }
}

impl Waiter {
    #[inline]
    pub(super) fn new() -> Self {
        Self {
            answer: AtomicU32::new(WAITING),
            #[cfg(loom)]
            life: std::sync::Arc::new(crate::sync::UnsafeCell::new(())),
            _pinned: PhantomPinned,
        }
    }

    /// What its owner has been told; `None` while it waits.
    #[inline]
    pub(super) fn answer(&self) -> Option<Answer> {
        Answer::of(self.answer.load(Ordering::Acquire))
    }
}

/// A waiter in line, pinned where its owner has it until it was answered or has left. Its waker is here, so that who
/// has to call it need not look there first.
#[derive(Debug)]
pub(super) struct Caller {
    waiter: NonNull<Waiter>,
    waker: Waker,
}

impl Caller {
    /// # Safety
    /// The waiter stays where it is until it is answered or taken out of the line.
    pub(super) unsafe fn new(waiter: &Waiter, waker: Waker) -> Self {
        let waiter = NonNull::from(waiter);
        Self { waiter, waker }
    }

    /// The last that is done to a waiter: its owner may take it away as soon as it knows. Its waker is to be called.
    ///
    /// # Safety
    /// It was in line until now, and the lock has been held since.
    #[inline(always)]
    pub(super) unsafe fn answer(self, answer: Answer) -> Waker {
        // SAFETY: it is there as long as it has no answer, and who leaves does so under the lock.
        let waiter = unsafe { self.waiter.as_ref() };
        #[cfg(loom)]
        let life = waiter.life.clone();
        if seeded(Bug::AnswerTooEarly) {
            waiter.answer.store(answer.code(), Ordering::Release);
        }
        #[cfg(loom)]
        life.with_mut(|_| ());
        waiter.answer.store(answer.code(), Ordering::Release);
        self.waker
    }

    /// Whether an answer would wake the task of that waker.
    pub(super) fn would_wake(&self, newer: &Waker) -> bool {
        self.waker.will_wake(newer)
    }

    /// Has that one called from now on; the one before is to be dropped after the lock.
    pub(super) fn replace_waker(&mut self, newer: Waker) -> Waker {
        std::mem::replace(&mut self.waker, newer)
    }
}

// SAFETY: what it points to is shared through an atomic alone, and is there as long as it is in line.
unsafe impl Send for Caller {}

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
