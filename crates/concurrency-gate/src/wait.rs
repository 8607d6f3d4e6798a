//! Waiting for a slot, as a future that needs no runtime and reads no clock.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::entry::{Entered, Pass};
use crate::keep::Keep;
use crate::lease::Lease;
use crate::line::{Answer, Ticket};
use crate::rejection::{Reason, Rejection};

/// A slot in order of arrival. Dropping it leaves the line, or passes on what it had been given.
///
/// It does not know the time: whoever polls it calls [`expire`](Self::expire) once
/// [`remaining`](Self::remaining) has passed, as [`Enter`](crate::Enter) does.
#[must_use = "futures do nothing unless polled"]
pub struct Wait<'h, K> {
    /// `None` once it has been answered.
    keep: Option<Keep<'h, K>>,
    began: Duration,
    deadline: Option<Duration>,
    ticket: Option<Ticket>,
}

impl<'h, K> Wait<'h, K> {
    #[inline]
    pub(crate) fn new(keep: Keep<'h, K>, now: Duration, deadline: Option<Duration>) -> Self {
        Self {
            keep: Some(keep),
            began: now,
            deadline,
            ticket: None,
        }
    }

    /// How long it may take from the moment it was asked for.
    pub fn remaining(&self) -> Duration {
        let Some(keep) = &self.keep else {
            return Duration::ZERO;
        };
        let patience = keep.entry().setup().limit.wait_timeout;
        self.deadline.map_or(patience, |deadline| {
            patience.min(deadline.saturating_sub(self.began))
        })
    }

    /// The time is over: a slot that came just now, or the refusal.
    pub fn expire(&mut self) -> Result<Lease<'h, K>, Rejection> {
        let keep = self.keep.as_ref().ok_or(SPENT)?;
        let ticket = self.ticket.take();
        match ticket.and_then(|ticket| keep.entry().withdraw(ticket)) {
            Some(answer) => self.told(answer),
            None => Err(keep.entry().timed_out()),
        }
    }

    /// The slot, if it is to be had at the first look. Inlined, so that nothing of the future has
    /// to be in memory for those who need not wait.
    #[inline(always)]
    fn at_once(&mut self) -> Option<Lease<'h, K>> {
        if self.ticket.is_some() || self.deadline.is_some() {
            return None;
        }
        let pass = self.keep.as_ref()?.entry().enter_fast(self.began).ok()?;
        Some(Lease::new(self.keep.take()?, pass, self.began))
    }

    #[inline(never)]
    fn poll_slowly(&mut self, cx: &Context<'_>) -> Poll<Result<Lease<'h, K>, Rejection>> {
        let Some(keep) = &self.keep else {
            return Poll::Ready(Err(SPENT));
        };
        if self.ticket.is_none() {
            return self.begin(cx);
        }
        match keep.entry().answer(&mut self.ticket, cx) {
            Some(answer) => Poll::Ready(self.told(answer)),
            None => Poll::Pending,
        }
    }

    /// A slot, a refusal, or a place in line.
    #[inline]
    fn begin(&mut self, cx: &Context<'_>) -> Poll<Result<Lease<'h, K>, Rejection>> {
        let Some(keep) = &self.keep else {
            return Poll::Ready(Err(SPENT));
        };
        if self.deadline.is_some_and(|deadline| deadline <= self.began) {
            return Poll::Ready(Err(keep.entry().late()));
        }
        match keep.entry().enter(cx.waker(), self.began) {
            Ok(Entered::Admitted(pass)) => Poll::Ready(self.lease(pass, self.began)),
            Ok(Entered::Queued(ticket)) => {
                self.ticket = Some(ticket);
                Poll::Pending
            }
            Err(rejection) => Poll::Ready(Err(rejection)),
        }
    }

    fn told(&mut self, answer: Answer) -> Result<Lease<'h, K>, Rejection> {
        match answer {
            Answer::Granted { at, epoch } => {
                let pass = Pass {
                    epoch,
                    probe: false,
                };
                self.lease(pass, at.max(self.began))
            }
            Answer::Refused(rejection) => {
                if let Some(keep) = &self.keep {
                    keep.entry().reject(rejection);
                }
                Err(rejection)
            }
        }
    }

    fn lease(&mut self, pass: Pass, since: Duration) -> Result<Lease<'h, K>, Rejection> {
        let keep = self.keep.take().ok_or(SPENT)?;
        Ok(Lease::new(keep, pass, since))
    }

    #[cold]
    fn leave_line(&mut self) {
        if let (Some(keep), Some(ticket)) = (&self.keep, self.ticket.take()) {
            keep.entry().cancel(ticket);
        }
    }
}

/// What somebody is told who asks again after the answer.
const SPENT: Rejection = Rejection::in_ms(Reason::Deadline, 1);

impl<'h, K> Future for Wait<'h, K> {
    type Output = Result<Lease<'h, K>, Rejection>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match this.at_once() {
            Some(lease) => Poll::Ready(Ok(lease)),
            None => this.poll_slowly(cx),
        }
    }
}

impl<K> Unpin for Wait<'_, K> {}

impl<K> Drop for Wait<'_, K> {
    #[inline]
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.leave_line();
        }
    }
}

impl<K> fmt::Debug for Wait<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("began", &self.began)
            .field("deadline", &self.deadline)
            .field("queued", &self.ticket.is_some())
            .finish()
    }
}
