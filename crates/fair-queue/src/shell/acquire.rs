//! The wait for a slot.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::charge::Charge;
use super::wait::Entered;
use super::waiter::{Answer, Waiter};
use super::{FairQueue, Slot};
use crate::bug::{Bug, seeded};
use crate::items::Handle;
use crate::work::{Refused, Work};

/// A slot in fair order, or why there is none. Dropping it leaves the line, or passes the slot on.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<'a> {
    queue: &'a FairQueue,
    work: Work,
    /// When it was asked for, if that is known.
    asked_at: Option<Duration>,
    progress: Progress,
    /// Pinned with the future: while it waits, the queue's line points to it.
    waiter: Waiter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    New,
    /// In this place of the queue, until there is an answer.
    Waiting(Handle),
    Done,
}

impl<'a> Acquire<'a> {
    #[inline]
    pub(super) fn new(queue: &'a FairQueue, work: Work, asked_at: Option<Duration>) -> Self {
        Self {
            queue,
            work,
            asked_at,
            progress: Progress::New,
            waiter: Waiter::new(),
        }
    }

    #[inline]
    fn slot(&self, answer: Answer) -> Result<Slot, Refused> {
        match answer {
            Answer::Granted => Ok(Slot::new(self.queue.shared.clone(), Charge::of(&self.work))),
            Answer::Refused(why) => Err(why),
        }
    }

    /// # Safety
    /// The future is pinned.
    #[inline(always)]
    unsafe fn begin(&mut self, waker: &Waker) -> Poll<Result<Slot, Refused>> {
        self.progress = Progress::Done;
        let entered = self.queue.enter(&self.work, self.asked_at);
        // SAFETY: it is pinned.
        match entered.unwrap_or_else(|| unsafe { self.queue_up(waker) }) {
            Entered::Taken => Poll::Ready(self.slot(Answer::Granted)),
            Entered::Refused(why) => Poll::Ready(Err(why)),
            Entered::Waiting => Poll::Pending,
        }
    }

    /// # Safety
    /// The future is pinned.
    #[cold]
    unsafe fn queue_up(&mut self, waker: &Waker) -> Entered {
        let (work, asked_at) = (&self.work, self.asked_at);
        // SAFETY: the waiter is pinned with the future, which leaves when it is dropped.
        match unsafe { self.queue.queue_up(work, asked_at, &self.waiter, waker) } {
            Ok(handle) => {
                self.progress = Progress::Waiting(handle);
                Entered::Waiting
            }
            Err(entered) => entered,
        }
    }

    #[inline]
    fn collect(&mut self, handle: Handle, cx: &Context<'_>) -> Poll<Result<Slot, Refused>> {
        let answer = self.waiter.answer();
        match answer.or_else(|| self.queue.stay(&self.waiter, handle, cx.waker())) {
            Some(answer) => {
                self.progress = Progress::Done;
                Poll::Ready(self.slot(answer))
            }
            None => Poll::Pending,
        }
    }

    #[cold]
    fn give_up(&mut self, handle: Handle) {
        let answer = self.queue.leave(&self.waiter, handle);
        if answer == Some(Answer::Granted) && !seeded(Bug::KeepSlotOnCancel) {
            // Work that never began has cost nothing.
            let shared = self.queue.shared.clone();
            // SAFETY: the slot it was granted is given back once, and never seen by anybody.
            unsafe { shared.release(&Charge::of(&self.work), 0, None) };
        }
    }
}

impl Future for Acquire<'_> {
    type Output = Result<Slot, Refused>;

    /// Always part of who waits: else the slot would go through memory on its way there.
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the waiter is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        match this.progress {
            // SAFETY: it is pinned.
            Progress::New => unsafe { this.begin(cx.waker()) },
            Progress::Waiting(handle) => this.collect(handle, cx),
            // Polled after the end: a refusal rather than a panic or an endless wait.
            Progress::Done => Poll::Ready(Err(Refused::Closed)),
        }
    }
}

impl Drop for Acquire<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Progress::Waiting(handle) = self.progress {
            self.give_up(handle);
        }
    }
}
