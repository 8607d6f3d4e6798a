//! Those who wait for a slot, in fair order, and the calls they are owed.

use std::task::Waker;
use std::time::Duration;

use super::waiter::{Answer, Caller};
use crate::queue::Queue;
use crate::settings::Class;
use crate::work::{Refused, Work};

/// Wakers of who has been answered, to be called once the lock is released.
#[derive(Debug, Default)]
pub(super) struct Calls(Option<Several>);

/// Without allocation when there is but one.
#[derive(Debug)]
struct Several {
    first: Waker,
    more: Vec<Waker>,
}

impl Calls {
    #[cold]
    pub(super) fn add(&mut self, waker: Option<Waker>) {
        let Some(waker) = waker else { return };
        match &mut self.0 {
            Some(several) => several.more.push(waker),
            None => {
                let (first, more) = (waker, Vec::new());
                self.0 = Some(Several { first, more });
            }
        }
    }

    #[inline(always)]
    pub(super) fn ring(self) {
        if let Some(several) = self.0 {
            several.ring();
        }
    }

    #[cold]
    fn refuse(&mut self, caller: Caller, why: Refused) {
        // SAFETY: whoever is in the queue has no answer, and who has the line has its lock.
        self.add(unsafe { caller.answer(Answer::Refused(why)) });
    }
}

impl Several {
    #[cold]
    fn ring(self) {
        self.first.wake();
        self.more.into_iter().for_each(Waker::wake);
    }
}

/// Who has been handed a slot, and has to be told once the lock is released.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) class: Class,
    pub(super) waker: Option<Waker>,
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

    /// Grants the next waiter in fair order; `None` when nobody waits.
    #[inline(always)]
    pub(super) fn grant_next(&mut self, now: Duration, calls: &mut Calls) -> Option<Granted> {
        let next = self
            .queue
            .pop_of_many(now, |other, why| calls.refuse(other, why))?;
        // SAFETY: it was in the queue until now, so it has no answer, and the lock is held.
        let waker = unsafe { next.item.answer(Answer::Granted) };
        let class = next.account.class;
        Some(Granted { class, waker })
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
