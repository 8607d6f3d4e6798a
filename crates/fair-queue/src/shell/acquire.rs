//! The wait for a slot.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::waiter::{Answer, Waiter};
use super::{Entered, FairQueue, Slot};
use crate::bug::{Bug, seeded};
use crate::queue::Account;
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
    waiter: Option<Waiter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    New,
    Waiting,
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
            waiter: None,
        }
    }

    #[inline]
    fn slot(&self, answer: Answer) -> Result<Slot, Refused> {
        match answer {
            Answer::Granted => Ok(Slot::new(self.queue.clone(), Account::of(&self.work))),
            Answer::Refused(why) => Err(why),
        }
    }

    /// Only of a future that is pinned.
    #[inline]
    fn begin(&mut self, cx: &Context<'_>) -> Poll<Result<Slot, Refused>> {
        self.progress = Progress::Done;
        // SAFETY: the future is pinned, and so is its waiter.
        let waiter = unsafe { Pin::new_unchecked(&mut self.waiter) };
        let (work, asked_at) = (&self.work, self.asked_at);
        match self.queue.enter(work, asked_at, waiter, cx.waker()) {
            Entered::Taken => Poll::Ready(self.slot(Answer::Granted)),
            Entered::Refused(why) => Poll::Ready(Err(why)),
            Entered::Waiting => {
                self.progress = Progress::Waiting;
                Poll::Pending
            }
        }
    }

    #[inline]
    fn collect(&mut self, cx: &Context<'_>) -> Poll<Result<Slot, Refused>> {
        let answer = self.waiter.as_ref().and_then(|waiter| {
            let answer = waiter.answer();
            // SAFETY: as long as the future waits, its waiter has not left the line.
            answer.or_else(|| unsafe { self.queue.stay(waiter, cx.waker()) })
        });
        match answer {
            Some(answer) => {
                self.progress = Progress::Done;
                Poll::Ready(self.slot(answer))
            }
            None => Poll::Pending,
        }
    }

    #[cold]
    fn give_up(&mut self) {
        let waiter = self.waiter.as_ref();
        // SAFETY: as long as the future waits, its waiter has not left the line.
        let answer = waiter.and_then(|waiter| unsafe { self.queue.leave(waiter) });
        if answer == Some(Answer::Granted) && !seeded(Bug::KeepSlotOnCancel) {
            // Work that never began has cost nothing.
            self.queue.release(&Account::of(&self.work), 0, None);
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
            Progress::New => this.begin(cx),
            Progress::Waiting => this.collect(cx),
            // Polled after the end: a refusal rather than a panic or an endless wait.
            Progress::Done => Poll::Ready(Err(Refused::Closed)),
        }
    }
}

impl Drop for Acquire<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.progress == Progress::Waiting {
            self.give_up();
        }
    }
}
