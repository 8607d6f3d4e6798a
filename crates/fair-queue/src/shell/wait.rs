//! How the queue takes in who asks for a slot, and lets go of who no longer does.

use std::task::Waker;
use std::time::Duration;

use super::FairQueue;
use super::line::{Calls, Line};
use super::waiter::{Answer, Caller, Waiter};
use super::word::Entry;
use crate::bug::{Bug, seeded};
use crate::items::Handle;
use crate::queue::key;
use crate::sync::MutexGuard;
use crate::work::{Refused, Work};

/// No more than a word: larger results go through memory, which costs more than all the rest.
#[derive(Clone, Copy)]
pub(super) enum Entered {
    /// A slot is taken and counted.
    Taken,
    Waiting,
    Refused(Refused),
}

impl FairQueue {
    /// A slot, if one is free and nobody waits, or a refusal; `None` if there is more to it.
    #[inline(always)]
    pub(super) fn enter(&self, work: &Work, now: Option<Duration>) -> Option<Entered> {
        if let Err(why) = self.check(work, now) {
            return Some(Entered::Refused(why));
        }
        self.shared.word.take().then(|| {
            self.shared.begins(work.class);
            Entered::Taken
        })
    }

    /// A slot, a refusal or a place in line for checked work.
    ///
    /// # Safety
    /// The waiter has no answer. If it is to wait, it stays where it is until it has one or [left](Self::leave).
    #[inline(always)]
    pub(super) unsafe fn queue_up(
        &self,
        work: &Work,
        now: Option<Duration>,
        waiter: &Waiter,
        waker: &Waker,
    ) -> Result<Handle, Entered> {
        // The lock, the clock and the waker take long enough for the beginning of the search to come.
        let hash = self.shared.signpost.hash(key(work));
        // Cloned and read before the lock: both are somebody else's code.
        // SAFETY: as the caller promises.
        let caller = unsafe { Caller::new(waiter, waker.clone()) };
        let now = self.now_or(now);
        let mut line = self.line();
        let entered = match self.shared.word.take_or_queue() {
            Entry::Queued => match line.queue.push_where_room(work, hash, caller, now) {
                Ok(handle) => return Ok(handle),
                Err(caller) => return self.queue_up_pressed(line, work, caller, now),
            },
            Entry::Closed => Entered::Refused(Refused::Closed),
            Entry::Taken => {
                self.shared.begins(work.class);
                Entered::Taken
            }
        };
        // Before the caller, whose waker is somebody else's code.
        drop(line);
        Err(entered)
    }

    /// A place in line where there is no room.
    #[cold]
    fn queue_up_pressed(
        &self,
        mut line: MutexGuard<'_, Line>,
        work: &Work,
        caller: Caller,
        now: Duration,
    ) -> Result<Handle, Entered> {
        let mut calls = Calls::default();
        let joined = line.join(work, caller, now, &mut calls);
        self.shared.unmark_if_empty(&line);
        drop(line);
        calls.ring();
        joined.map_err(|(why, _)| Entered::Refused(why))
    }

    /// Has a waiter woken by this waker from now on. What it was told meanwhile, if anything.
    #[cold]
    pub(super) fn stay(&self, waiter: &Waiter, handle: Handle, waker: &Waker) -> Option<Answer> {
        let mut line = self.line();
        let caller = line.queue.item_mut(handle);
        if caller.is_none_or(|caller| caller.would_wake(waker)) {
            return waiter.answer();
        }
        drop(line);
        let newer = waker.clone();
        let mut line = self.line();
        let unheard = match line.queue.item_mut(handle) {
            Some(caller) if !seeded(Bug::KeepOldWaker) => caller.replace_waker(newer),
            _ => newer,
        };
        let answer = waiter.answer();
        drop(line);
        drop(unheard);
        answer
    }

    /// Takes a waiter out of the line, and says what it had been told by then.
    pub(super) fn leave(&self, waiter: &Waiter, handle: Handle) -> Option<Answer> {
        if let Some(answer) = waiter.answer() {
            return Some(answer);
        }
        let mut line = self.line();
        // Answers are given under the lock, to who is taken out of the queue.
        let caller = line.queue.cancel(handle);
        self.shared.unmark_if_empty(&line);
        drop(line);
        match caller {
            Some(_) => None,
            None => waiter.answer(),
        }
    }
}
