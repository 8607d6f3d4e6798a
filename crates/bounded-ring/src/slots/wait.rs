//! The two waits of slots: for one of them, and for none in use.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{Answer, Entered, Permit, Slots};
use crate::bug::{Bug, seeded};
use crate::line::{Left, Ticket};
use crate::sync::lock;

/// A slot in order of arrival, or `None` once closed.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<'a> {
    slots: &'a Slots,
    ticket: Option<Ticket>,
}

impl<'a> Acquire<'a> {
    pub(super) fn new(slots: &'a Slots) -> Self {
        Self {
            slots,
            ticket: None,
        }
    }

    /// Leaves the line and says what had been answered by then.
    fn leave(&mut self) -> Option<Answer> {
        let ticket = self.ticket.take()?;
        let shared = &self.slots.shared;
        let mut lines = lock(&shared.lines);
        let left = lines.seekers.leave(ticket);
        shared.note_seekers(&lines);
        drop(lines);
        match left {
            Left::Called(answer) => Some(answer),
            Left::Uncalled(waker) => {
                drop(waker);
                None
            }
        }
    }

    /// True as long as nothing was answered.
    fn still_in_line(&self, cx: &Context<'_>) -> bool {
        let Some(ticket) = &self.ticket else {
            return false;
        };
        let mut waker = cx.waker().clone();
        lock(&self.slots.shared.lines)
            .seekers
            .refresh(ticket, &mut waker)
    }
}

impl Future for Acquire<'_> {
    type Output = Option<Permit>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.still_in_line(cx) {
            return Poll::Pending;
        }
        let entered = match self.leave() {
            Some(Answer::Granted) => Entered::Granted,
            Some(Answer::Refused) => Entered::Refused,
            None => self.slots.shared.enter(cx.waker()),
        };
        match entered {
            Entered::Granted => Poll::Ready(Some(self.slots.permit())),
            Entered::Refused => Poll::Ready(None),
            Entered::Queued(ticket) => {
                self.ticket = Some(ticket);
                Poll::Pending
            }
        }
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if let Some(Answer::Granted) = self.leave()
            && !seeded(Bug::KeepSlotOnCancel)
        {
            self.slots.shared.give_back();
        }
    }
}

/// Resolves when no slot is in use.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Idle<'a> {
    slots: &'a Slots,
    ticket: Option<Ticket>,
}

impl<'a> Idle<'a> {
    pub(super) fn new(slots: &'a Slots) -> Self {
        Self {
            slots,
            ticket: None,
        }
    }

    fn leave(&mut self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let shared = &self.slots.shared;
        let mut lines = lock(&shared.lines);
        let left = lines.watchers.leave(ticket);
        shared.note_watchers(&lines);
        drop(lines);
        drop(left);
    }
}

impl Future for Idle<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(ticket) = &self.ticket else {
            self.ticket = self.slots.shared.watch(cx.waker());
            return if self.ticket.is_some() {
                Poll::Pending
            } else {
                Poll::Ready(())
            };
        };
        let mut waker = cx.waker().clone();
        let uncalled = lock(&self.slots.shared.lines)
            .watchers
            .refresh(ticket, &mut waker);
        if uncalled {
            return Poll::Pending;
        }
        self.leave();
        Poll::Ready(())
    }
}

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}
