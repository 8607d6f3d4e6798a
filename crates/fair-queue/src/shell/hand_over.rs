//! What becomes of a slot that is given back: the next in fair order has it, or it is free.

use std::time::Duration;

use super::Shared;
use super::charge::Charge;
use super::common::Common;
use super::line::{Calls, Line};
use super::word::Returned;
use crate::bug::{Bug, seeded};
use crate::settings::Class;
use crate::sync::MutexGuard;

impl Common {
    /// Gives a slot back or hands it over. Without anybody waiting nobody's share is at stake, and a
    /// settlement would change nothing.
    ///
    /// # Safety
    /// A slot is out for this, and is no longer.
    #[inline]
    pub(super) unsafe fn release(self, charge: &Charge, real_cost: u64, now: Option<Duration>) {
        if self.word.is_unawaited() {
            // Before the slot is given back: from then on all this may be gone.
            if !seeded(Bug::CountTooLate) {
                self.ends(charge.class());
            }
            match self.word.give_back() {
                Returned::Free if seeded(Bug::CountTooLate) => return self.ends(charge.class()),
                Returned::Free => return,
                // SAFETY: it was the last.
                Returned::Last => return unsafe { self.free() },
                Returned::Awaited => self.begins(charge.class()),
            }
        }
        self.hand_over(charge, real_cost, now);
    }

    #[cold]
    fn hand_over(self, charge: &Charge, real_cost: u64, now: Option<Duration>) {
        let now = self.now_or(now);
        let mut line = self.line();
        if real_cost != charge.cost {
            line.queue.settle(charge.account(), real_cost);
        }
        let in_debt = self.word.in_debt();
        let usual = if in_debt { None } else { line.grant_usual(now) };
        let Some(granted) = usual else {
            let (calls, last) = self.hand_over_apart(line, charge.class(), now);
            if last {
                // SAFETY: it was the last.
                unsafe { self.free() };
            }
            return calls.ring();
        };
        self.pass_count(charge.class(), granted.class);
        self.unlock(line);
        granted.waker.wake();
    }

    /// The same where not all is as usual, out of the way of who seldom needs it. Who is to be called, and whether the
    /// slot was the last of all.
    #[inline(never)]
    fn hand_over_apart(
        &self,
        mut line: MutexGuard<'_, Line>,
        from: Class,
        now: Duration,
    ) -> (Calls, bool) {
        let mut calls = Calls::default();
        let mut last = false;
        let granted = match self.word.in_debt() {
            true => None,
            false => line.grant_next(now, &mut calls),
        };
        match granted {
            Some(granted) => {
                self.pass_count(from, granted.class);
                calls.add(granted.waker);
            }
            None => {
                self.ends(from);
                last = self.word.remove_one();
            }
        }
        self.unmark_if_empty(&line);
        self.unlock(line);
        (calls, last)
    }
}

impl Shared {
    /// From hand to hand within a class, the counts stay as they are.
    #[inline(always)]
    fn pass_count(&self, from: Class, to: Class) {
        if from != to {
            self.ends(from);
            self.begins(to);
        }
    }

    /// Grants as long as there are slots and waiters. Nobody else can take a slot meanwhile: the
    /// mark that somebody waits is taken away last.
    pub(super) fn fill(&self, line: &mut MutexGuard<'_, Line>, now: Duration, calls: &mut Calls) {
        while !line.queue.is_empty() && self.word.has_room() {
            if let Some(granted) = line.grant_next(now, calls) {
                self.word.add_one();
                self.begins(granted.class);
                calls.add(granted.waker);
            }
        }
        self.unmark_if_empty(line);
    }

    pub(super) fn unmark_if_empty(&self, line: &MutexGuard<'_, Line>) {
        if line.queue.is_empty() && self.word.is_queued() && !seeded(Bug::LeaveMark) {
            self.word.unmark();
        }
    }
}
