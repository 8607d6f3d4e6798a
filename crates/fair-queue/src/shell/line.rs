//! Those who wait for a slot, in fair order, and the calls they are owed.

use std::task::Waker;
use std::time::Duration;

use super::waiter::{Answer, Caller};
use crate::items::{Handle, Items};
use crate::queue::{Dispatched, Queue};
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
    pub(super) fn add(&mut self, waker: Waker) {
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
        // SAFETY: it was in the queue until now, and who has the line has its lock.
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
    pub(super) waker: Waker,
}

/// Under the shell's lock. Everybody in the queue waits without an answer.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) queue: Queue<Caller>,
}

// Whoever hands over reads a single cache line to know whom to call.
const _: () = assert!(Items::<Caller>::PLACE_BYTES == 64);

impl Line {
    /// Puts a new waiter with checked work in line.
    pub(super) fn join(
        &mut self,
        work: &Work,
        caller: Caller,
        now: Duration,
        calls: &mut Calls,
    ) -> Result<Handle, (Refused, Caller)> {
        self.queue
            .push_checked(work, caller, now, &mut |other, why| {
                calls.refuse(other, why)
            })
    }

    /// Grants the next waiter in fair order if that takes no more than usual, and somebody waits still.
    #[inline(always)]
    pub(super) fn grant_usual(&mut self, now: Duration) -> Option<Granted> {
        self.queue.pop_usual(now).map(grant)
    }

    /// Grants the next waiter in fair order; `None` when nobody waits.
    pub(super) fn grant_next(&mut self, now: Duration, calls: &mut Calls) -> Option<Granted> {
        self.queue
            .pop(now, |other, why| calls.refuse(other, why))
            .map(grant)
    }

    pub(super) fn expire(&mut self, now: Duration, calls: &mut Calls) {
        self.queue
            .expire(now, |other, why| calls.refuse(other, why));
    }

    pub(super) fn refuse_all(&mut self, why: Refused, calls: &mut Calls) {
        self.queue.clear(why, |other, why| calls.refuse(other, why));
    }
}

#[inline(always)]
fn grant(next: Dispatched<Caller>) -> Granted {
    let class = next.account.class;
    // SAFETY: it was in the queue until now, and who has the line has its lock.
    let waker = unsafe { next.item.answer(Answer::Granted) };
    Granted { class, waker }
}
