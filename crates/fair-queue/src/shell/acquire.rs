//! The wait for a slot.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::line::{Answer, Left, Ticket};
use super::{Entered, FairQueue, Slot};
use crate::bug::{Bug, seeded};
use crate::work::{Refused, Work};

/// A slot in fair order, or why there is none. Dropping it leaves the line, or passes the slot on.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<'a> {
    queue: &'a FairQueue,
    work: Work,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    New,
    Waiting(Ticket),
    Done,
}

impl<'a> Acquire<'a> {
    pub(super) fn new(queue: &'a FairQueue, work: Work) -> Self {
        Self {
            queue,
            work,
            progress: Progress::New,
        }
    }

    fn slot(&self, answer: Answer) -> Result<Slot, Refused> {
        match answer {
            Answer::Granted(account) => Ok(Slot::new(self.queue.clone(), account)),
            Answer::Refused(why) => Err(why),
        }
    }
}

impl Future for Acquire<'_> {
    type Output = Result<Slot, Refused>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match std::mem::replace(&mut self.progress, Progress::Done) {
            Progress::New => match self.queue.enter(&self.work, cx.waker()) {
                Entered::Taken(slot) => Poll::Ready(Ok(slot)),
                Entered::Refused(why) => Poll::Ready(Err(why)),
                Entered::Waiting(ticket) => {
                    self.progress = Progress::Waiting(ticket);
                    Poll::Pending
                }
            },
            Progress::Waiting(ticket) => match self.queue.collect(ticket, cx.waker()) {
                Ok(answer) => Poll::Ready(self.slot(answer)),
                Err(ticket) => {
                    self.progress = Progress::Waiting(ticket);
                    Poll::Pending
                }
            },
            // Polled after the end: a refusal rather than a panic or an endless wait.
            Progress::Done => Poll::Ready(Err(Refused::Closed)),
        }
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Progress::Waiting(ticket) = std::mem::replace(&mut self.progress, Progress::Done)
        else {
            return;
        };
        match self.queue.leave(ticket) {
            Left::Waiting(waker) => drop(waker),
            Left::Answered(Answer::Refused(_)) => {}
            Left::Answered(Answer::Granted(_)) if seeded(Bug::KeepSlotOnCancel) => {}
            // Work that never began has cost nothing.
            Left::Answered(Answer::Granted(account)) => self.queue.release(account, Some(0)),
        }
    }
}
