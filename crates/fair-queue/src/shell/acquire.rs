//! The wait for a slot.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::line::{Answer, Left, Ticket};
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
            Answer::Granted => Ok(Slot::new(self.queue.clone(), Account::of(&self.work))),
            Answer::Refused(why) => Err(why),
        }
    }

    fn collect(&mut self, ticket: Ticket, cx: &Context<'_>) -> Poll<Result<Slot, Refused>> {
        match self.queue.collect(ticket, cx.waker()) {
            Ok(answer) => Poll::Ready(self.slot(answer)),
            Err(ticket) => {
                self.progress = Progress::Waiting(ticket);
                Poll::Pending
            }
        }
    }
}

impl Future for Acquire<'_> {
    type Output = Result<Slot, Refused>;

    #[inline]
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
            Progress::Waiting(ticket) => self.collect(ticket, cx),
            // Polled after the end: a refusal rather than a panic or an endless wait.
            Progress::Done => Poll::Ready(Err(Refused::Closed)),
        }
    }
}

impl Drop for Acquire<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Progress::Waiting(ticket) = std::mem::replace(&mut self.progress, Progress::Done) {
            self.give_up(ticket);
        }
    }
}

impl Acquire<'_> {
    #[cold]
    fn give_up(&mut self, ticket: Ticket) {
        match self.queue.leave(ticket) {
            Left::Waiting(waker) => drop(waker),
            Left::Answered(Answer::Refused(_)) => {}
            Left::Answered(Answer::Granted) if seeded(Bug::KeepSlotOnCancel) => {}
            // Work that never began has cost nothing.
            Left::Answered(Answer::Granted) => {
                self.queue.release(&Account::of(&self.work), Some(0));
            }
        }
    }
}
