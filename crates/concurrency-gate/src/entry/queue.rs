//! The slow side of an entry: the line, hand-over, resize, close.

use std::pin::Pin;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::Duration;

use super::detail::{Detail, Inner};
use super::{Entered, Entry, Pass};
use crate::bug::{Bug, seeded};
use crate::limit::{LimitError, check_max};
use crate::rejection::{Reason, Rejection};
use crate::seat::{Answer, Seat};
use crate::sync::{Ordering, lock};
use crate::tally::Event;
use crate::word::{CLOSED, FULL, QUEUED, Word};

impl Entry {
    /// A slot, a refusal, or a place in line: decided under the lock, against one word.
    #[inline(never)]
    pub(super) fn join(
        &self,
        mut seat: Pin<&mut Option<Seat>>,
        waker: &Waker,
        now: Duration,
    ) -> Result<Entered, Rejection> {
        let detail = self.detail();
        // SAFETY: the seat is made in its place.
        let place = unsafe { seat.as_mut().get_unchecked_mut() };
        // Cloned before the lock: a waker is somebody else's code.
        place.insert(Seat::new()).will_wake(waker);
        let mut woken = Vec::new();
        let mut inner = lock(&detail.inner);
        let now = inner.at(now);
        let entered = match self.ask_breaker(detail, &mut inner, now, &mut woken) {
            Ok(Some(probe)) => Ok(Entered::Admitted(probe)),
            Ok(None) => self.join_locked(detail, &mut inner, seat.as_ref(), now),
            Err(rejection) => Err(rejection),
        };
        drop(inner);
        if !woken.is_empty() {
            woken.into_iter().for_each(Waker::wake);
        }
        if matches!(entered, Ok(Entered::Queued)) {
            return entered;
        }
        seat.set(None);
        entered.map_err(|rejection| self.reject(rejection))
    }

    fn join_locked(
        &self,
        detail: &Detail,
        inner: &mut Inner,
        seat: Pin<&Option<Seat>>,
        now: Duration,
    ) -> Result<Entered, Rejection> {
        let queue_max = self.setup.limit.queue_max;
        let mut word = self.word();
        loop {
            if word.has(CLOSED) {
                return Err(self.refusal(word));
            }
            let free = word.has_free() && inner.line.is_empty();
            let length = inner.line.len() + 1;
            if !free && length > queue_max {
                return Err(self.refusal_of(Reason::QueueFull));
            }
            let next = if free {
                word.admit()
            } else {
                word.set(QUEUED, !seeded(Bug::JoinUnseen))
                    .set(FULL, length == queue_max)
            };
            // Where the mark stands already, nothing can change but by those who leave.
            let swapped = if next == word {
                Ok(())
            } else {
                self.swap(word, next)
            };
            match swapped {
                Ok(()) if free => {
                    self.note_admission(next, now);
                    return Ok(Entered::Admitted(self.free_pass(inner)));
                }
                Ok(()) => break,
                Err(seen) => word = seen,
            }
        }
        if let Some(seat) = seat.get_ref() {
            // SAFETY: it is pinned, and its owner leaves the line before it takes the seat away.
            unsafe { inner.line.join(NonNull::from(seat), now) };
        }
        detail.note_waiting(&inner.line);
        detail.note_queued();
        Ok(Entered::Queued)
    }

    pub(super) fn free_pass(&self, inner: &Inner) -> Pass {
        let epoch = inner.breaker.as_ref().map_or(0, |breaker| breaker.epoch());
        Pass {
            epoch,
            probe: false,
        }
    }

    /// Passes a slot on without its being free in between. Where more are inside than the limit
    /// allows, the slot pays the debt instead.
    #[cold]
    pub(super) fn hand_over(&self, told: Option<Duration>) {
        let detail = self.detail();
        let mut inner = lock(&detail.inner);
        let now = self.moment(&mut inner, told);
        let word = self.word();
        let in_debt = word.in_flight() > word.limit() && !seeded(Bug::HandOverDebt);
        if in_debt || inner.line.is_empty() || seeded(Bug::FreeInsteadOfHandOver) {
            self.word.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let waker = self.call_first(detail, &mut inner, now);
        self.note_line(detail, &inner);
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Gives what is free to those who wait.
    #[cold]
    pub(super) fn let_in(&self, told: Option<Duration>) {
        let detail = self.detail();
        let mut woken = Vec::new();
        let mut inner = lock(&detail.inner);
        self.moment(&mut inner, told);
        self.fill(detail, &mut inner, &mut woken);
        drop(inner);
        woken.into_iter().for_each(Waker::wake);
    }

    /// The time as far as somebody who leaves can tell.
    fn moment(&self, inner: &mut Inner, told: Option<Duration>) -> Duration {
        let told = told.or_else(|| self.setup.clock.map(|clock| clock()));
        told.map_or(inner.latest, |now| inner.at(now))
    }

    /// Tells the first in line that a slot, which is counted already, is its own.
    #[inline]
    fn call_first(&self, detail: &Detail, inner: &mut Inner, now: Duration) -> Option<Waker> {
        let since = inner.line.first_since()?;
        detail.note_wait(now.saturating_sub(since));
        detail.note_granted();
        self.touch(now);
        let epoch = self.free_pass(inner).epoch;
        inner.line.call_first(Answer::Granted { at: now, epoch })
    }

    /// Lets those in line take what is free; after the limit was raised.
    pub(super) fn fill(&self, detail: &Detail, inner: &mut Inner, woken: &mut Vec<Waker>) {
        while !inner.line.is_empty() && self.word().has_free() {
            // The word counts only the slot: the admission is counted with the grants.
            self.word.fetch_add(1, Ordering::AcqRel);
            let now = inner.latest;
            woken.extend(self.call_first(detail, inner, now));
        }
        self.note_line(detail, inner);
    }

    /// Tells everybody in line the same.
    pub(super) fn dismiss(
        &self,
        detail: &Detail,
        inner: &mut Inner,
        rejection: Rejection,
        woken: &mut Vec<Waker>,
    ) {
        while let Some(waker) = inner.line.call_first(Answer::Refused(rejection)) {
            woken.push(waker);
        }
        self.note_line(detail, inner);
    }

    /// Brings the word in line with the line.
    fn note_line(&self, detail: &Detail, inner: &Inner) {
        detail.note_waiting(&inner.line);
        let (queued, full) = (
            !inner.line.is_empty(),
            inner.line.len() >= self.setup.limit.queue_max,
        );
        let word = self.word();
        if word.has(QUEUED) != queued || word.has(FULL) != (queued && full) {
            self.update(|word| word.set(QUEUED, queued).set(FULL, queued && full));
        }
    }

    /// Has an uncalled waiter woken by this waker from now on. What it was told meanwhile, if anything.
    ///
    /// # Safety
    /// The seat has joined this entry's line and is there still.
    #[cold]
    pub(crate) unsafe fn stay(&self, seat: &Seat, waker: &Waker) -> Option<Answer> {
        let detail = self.detail();
        // SAFETY: as the caller promises.
        let known = unsafe { lock(&detail.inner).line.would_wake(seat, waker) };
        if known || seeded(Bug::KeepOldWaker) {
            return None;
        }
        // Cloned outside of the lock: a waker is somebody else's code. So is its end.
        let mut waker = waker.clone();
        // SAFETY: as the caller promises.
        unsafe { lock(&detail.inner).line.refresh(seat, &mut waker) };
        drop(waker);
        seat.answer()
    }

    /// Leaves the line and says what had been answered by then.
    ///
    /// # Safety
    /// The seat has joined this entry's line and is there still. It is not in line afterwards.
    pub(crate) unsafe fn withdraw(&self, seat: &Seat) -> Option<Answer> {
        let detail = self.detail();
        let mut inner = lock(&detail.inner);
        // SAFETY: as the caller promises.
        let waker = unsafe { inner.line.leave(seat) };
        self.note_line(detail, &inner);
        drop(inner);
        drop(waker);
        seat.answer()
    }

    /// A cancelled waiter passes on what it had been given.
    ///
    /// # Safety
    /// As for [`withdraw`](Self::withdraw).
    pub(crate) unsafe fn cancel(&self, seat: &Seat) {
        // SAFETY: as the caller promises.
        if let Some(Answer::Granted { .. }) = unsafe { self.withdraw(seat) }
            && !seeded(Bug::KeepSlotOnCancel)
        {
            self.release(None);
        }
    }

    pub(crate) fn timed_out(&self) -> Rejection {
        self.setup.tally.happened(self.number(), Event::TimedOut);
        self.late()
    }

    pub(crate) fn late(&self) -> Rejection {
        self.reject(self.refusal_of(Reason::Deadline))
    }

    /// Another limit, from now on. Nobody inside is sent away; a raise lets waiters in at once.
    pub(crate) fn resize(&self, max: u32) -> Result<(), LimitError> {
        check_max(max)?;
        let detail = self.detail();
        let mut woken = Vec::new();
        let mut inner = lock(&detail.inner);
        inner.resized = max != self.setup.limit.max;
        if let Some(adaptive) = &mut inner.adaptive {
            adaptive.set(max);
        }
        inner.whole = max;
        self.apply_limit(detail, &mut inner, &mut woken);
        drop(inner);
        woken.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Refuses everybody from now on, those in line too. Slots in use stay so until given back.
    pub(crate) fn close(&self) {
        let before = Word(self.word.fetch_or(CLOSED, Ordering::AcqRel));
        if !before.has(QUEUED) || seeded(Bug::CloseSilently) {
            return;
        }
        let detail = self.detail();
        let mut woken = Vec::new();
        let mut inner = lock(&detail.inner);
        let rejection = self.refusal(self.word());
        self.dismiss(detail, &mut inner, rejection, &mut woken);
        drop(inner);
        woken.into_iter().for_each(Waker::wake);
    }
}
