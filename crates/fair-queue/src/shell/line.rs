//! Those who wait for a slot, in fair order, and the calls they are owed.

use std::task::Waker;
use std::time::Duration;

use super::waiter::{Answer, Caller};
use crate::queue::Queue;
use crate::settings::Class;
use crate::work::{Refused, Work};

/// Wakers to be called once the lock is released; without allocation when there is but one.
#[derive(Debug, Default)]
pub(super) struct Calls {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl Calls {
    #[inline]
    fn add(&mut self, waker: Option<Waker>) {
        if self.first.is_none() {
            self.first = waker;
        } else {
            self.more.extend(waker);
        }
    }

    /// By reference: moved, what was just written would be read before it has reached the cache.
    #[inline(always)]
    pub(super) fn ring(&mut self) {
        if let Some(waker) = self.first.take() {
            waker.wake();
        }
        if !self.more.is_empty() {
            self.ring_more();
        }
    }

    #[cold]
    fn ring_more(&mut self) {
        self.more.drain(..).for_each(Waker::wake);
    }

    #[cold]
    fn refuse(&mut self, caller: Caller, why: Refused) {
        // SAFETY: whoever is in the queue has no answer, and who has the line has its lock.
        self.add(unsafe { caller.answer(Answer::Refused(why)) });
    }
}

/// Under the shell's lock. Everybody in the queue waits without an answer.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) queue: Queue<Caller>,
}

impl Line {
    /// Puts a new waiter with checked work in line.
    #[inline(always)]
    pub(super) fn join(
        &mut self,
        work: &Work,
        caller: Caller,
        now: Duration,
        calls: &mut Calls,
    ) -> Result<(), Refused> {
        let pushed = self
            .queue
            .push_checked(work, caller, now, &mut |other, why| {
                calls.refuse(other, why)
            });
        match pushed {
            Ok(handle) => {
                // SAFETY: it is new, so nobody has answered it.
                unsafe { caller.set_handle(handle) };
                Ok(())
            }
            Err((why, _)) => Err(why),
        }
    }

    /// Grants the next waiter in fair order; whose class it is, or `None` when nobody waits.
    #[inline(always)]
    pub(super) fn grant_next(&mut self, now: Duration, calls: &mut Calls) -> Option<Class> {
        let next = self
            .queue
            .pop_of_many(now, |other, why| calls.refuse(other, why))?;
        // SAFETY: it was in the queue until now, so it has no answer, and the lock is held.
        calls.add(unsafe { next.item.answer(Answer::Granted) });
        Some(next.account.class)
    }

    pub(super) fn expire(&mut self, now: Duration, calls: &mut Calls) {
        self.queue
            .expire(now, |other, why| calls.refuse(other, why));
    }

    pub(super) fn refuse_all(&mut self, why: Refused, calls: &mut Calls) {
        self.queue.clear(why, |other, why| calls.refuse(other, why));
    }

    /// Takes out a waiter without an answer; its waker is to be dropped after the lock.
    ///
    /// # Safety
    /// The waiter is in this line and has no answer.
    pub(super) unsafe fn leave(&mut self, caller: Caller) -> Option<Waker> {
        // SAFETY: as the caller promises; who has the line has its lock.
        let (waker, handle) = unsafe { caller.leave() };
        handle.and_then(|handle| self.queue.cancel(handle));
        waker
    }
}
