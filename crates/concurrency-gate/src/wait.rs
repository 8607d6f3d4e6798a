//! Waiting for a slot, as a future that needs no runtime and reads no clock.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::entry::{Entered, Pass};
use crate::lease::{Keep, Lease};
use crate::line::{Answer, Ticket};
use crate::rejection::Rejection;

/// A slot in order of arrival. Dropping it leaves the line, or passes on what it had been given.
///
/// It does not know the time: whoever polls it calls [`expire`](Self::expire) once
/// [`remaining`](Self::remaining) has passed, as [`Enter`](crate::Enter) does.
#[must_use = "futures do nothing unless polled"]
pub struct Wait<'h, K> {
    keep: Keep<'h, K>,
    began: Duration,
    until: Duration,
    ticket: Option<Ticket>,
}

impl<'h, K> Wait<'h, K> {
    pub(crate) fn new(keep: Keep<'h, K>, now: Duration, deadline: Option<Duration>) -> Self {
        let patience = now.saturating_add(keep.entry().setup().limit.wait_timeout);
        Self {
            keep,
            began: now,
            until: deadline.map_or(patience, |deadline| deadline.min(patience)),
            ticket: None,
        }
    }

    /// How long it may take from the moment it was asked for.
    pub fn remaining(&self) -> Duration {
        self.until.saturating_sub(self.began)
    }

    /// The time is over: a slot that came just now, or the refusal.
    pub fn expire(&mut self) -> Result<Lease<'h, K>, Rejection> {
        let answer = self
            .ticket
            .take()
            .and_then(|ticket| self.keep.entry().withdraw(ticket));
        match answer {
            Some(answer) => self.told(answer),
            None => Err(self.keep.entry().timed_out()),
        }
    }

    fn told(&self, answer: Answer) -> Result<Lease<'h, K>, Rejection> {
        match answer {
            Answer::Granted { at, epoch } => {
                let pass = Pass {
                    epoch,
                    probe: false,
                };
                Ok(Lease::new(self.keep.again(), pass, at.max(self.began)))
            }
            Answer::Refused(rejection) => Err(self.keep.entry().reject(rejection)),
        }
    }
}

impl<'h, K> Future for Wait<'h, K> {
    type Output = Result<Lease<'h, K>, Rejection>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let entry = this.keep.entry();
        if this.ticket.is_some() {
            return match entry.answer(&mut this.ticket, cx) {
                Some(answer) => Poll::Ready(this.told(answer)),
                None => Poll::Pending,
            };
        }
        if this.until <= this.began {
            return Poll::Ready(Err(entry.late()));
        }
        match entry.enter(cx.waker(), this.began) {
            Ok(Entered::Admitted(pass)) => {
                Poll::Ready(Ok(Lease::new(this.keep.again(), pass, this.began)))
            }
            Ok(Entered::Queued(ticket)) => {
                this.ticket = Some(ticket);
                Poll::Pending
            }
            Err(rejection) => Poll::Ready(Err(rejection)),
        }
    }
}

impl<K> Unpin for Wait<'_, K> {}

impl<K> Drop for Wait<'_, K> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.keep.entry().cancel(ticket);
        }
    }
}

impl<K> fmt::Debug for Wait<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("began", &self.began)
            .field("until", &self.until)
            .field("queued", &self.ticket.is_some())
            .finish()
    }
}
