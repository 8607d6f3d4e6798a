//! Waiting for a slot, as a future that needs no runtime and reads no clock.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::entry::{Entered, Pass};
use crate::keep::Keep;
use crate::lease::Lease;
use crate::rejection::{Reason, Rejection};
use crate::seat::{Answer, Seat};

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
    /// Pinned with the future: as long as there is a keep too, the entry's line may point to it.
    seat: Option<Seat>,
    /// The answer of those who did not get in at the first look.
    told: Result<Lease<'h, K>, Rejection>,
}

/// What somebody is told who asks again after the answer.
const SPENT: Rejection = Rejection::in_ms(Reason::Deadline, 1);

impl<'h, K> Wait<'h, K> {
    #[inline]
    pub(crate) fn new(keep: Keep<'h, K>, now: Duration, deadline: Option<Duration>) -> Self {
        Self {
            keep: Some(keep),
            began: now,
            deadline,
            seat: None,
            told: Err(SPENT),
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
    pub fn expire(mut self: Pin<&mut Self>) -> Result<Lease<'h, K>, Rejection> {
        self.as_mut().end();
        self.take_told()
    }

    /// Leaves the line with what it was told until now, else with a refusal.
    pub(crate) fn end(self: Pin<&mut Self>) {
        // SAFETY: the seat is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let Some(keep) = &this.keep else {
            return;
        };
        // SAFETY: with a keep there, the seat has joined the line of its entry.
        let answer = this
            .seat
            .as_ref()
            .and_then(|seat| unsafe { keep.entry().withdraw(seat) });
        match answer {
            Some(answer) => this.hear(answer),
            None => {
                this.told = Err(keep.entry().timed_out());
                this.keep = None;
            }
        }
    }

    /// The slot, if it is to be had at the first look. Inlined, so that nothing of the future has
    /// to be in memory for those who need not wait.
    #[inline(always)]
    pub(crate) fn at_once(self: Pin<&mut Self>) -> Option<Lease<'h, K>> {
        // SAFETY: the seat is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        if this.seat.is_some() || this.deadline.is_some() {
            return None;
        }
        let pass = this.keep.as_ref()?.entry().enter_fast(this.began).ok()?;
        Some(Lease::new(this.keep.take()?, pass, this.began))
    }

    /// The answer is left in the future: returned, it would go through memory also where it came
    /// [`at_once`](Self::at_once), in pieces that no processor forwards as a whole.
    #[inline(never)]
    pub(crate) fn poll_slowly(self: Pin<&mut Self>, cx: &Context<'_>) -> Poll<()> {
        // SAFETY: the seat is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let Some(keep) = &this.keep else {
            return Poll::Ready(());
        };
        let Some(seat) = &this.seat else {
            return this.begin(cx);
        };
        let answer = seat.answer().or_else(|| {
            // SAFETY: with a keep there, the seat has joined the line of its entry.
            unsafe { keep.entry().stay(seat, cx.waker()) }
        });
        match answer {
            Some(answer) => {
                this.hear(answer);
                Poll::Ready(())
            }
            None => Poll::Pending,
        }
    }

    #[inline(always)]
    pub(crate) fn take_told(self: Pin<&mut Self>) -> Result<Lease<'h, K>, Rejection> {
        // SAFETY: the seat is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        std::mem::replace(&mut this.told, Err(SPENT))
    }

    /// A slot, a refusal, or a place in line. Only of a future that is pinned.
    #[inline]
    fn begin(&mut self, cx: &Context<'_>) -> Poll<()> {
        let Some(keep) = &self.keep else {
            return Poll::Ready(());
        };
        if self.deadline.is_some_and(|deadline| deadline <= self.began) {
            self.told = Err(keep.entry().late());
            self.keep = None;
            return Poll::Ready(());
        }
        // SAFETY: the future is pinned, and so is its seat.
        let seat = unsafe { Pin::new_unchecked(&mut self.seat) };
        match keep.entry().enter(seat, cx.waker(), self.began) {
            Ok(Entered::Admitted(pass)) => self.admit(pass, self.began),
            Ok(Entered::Queued) => return Poll::Pending,
            Err(rejection) => {
                self.told = Err(rejection);
                self.keep = None;
            }
        }
        Poll::Ready(())
    }

    #[inline]
    fn hear(&mut self, answer: Answer) {
        match answer {
            Answer::Granted { at, epoch } => {
                let pass = Pass {
                    epoch,
                    probe: false,
                };
                self.admit(pass, at.max(self.began));
            }
            Answer::Refused(rejection) => {
                if let Some(keep) = self.keep.take() {
                    keep.entry().reject(rejection);
                }
                self.told = Err(rejection);
            }
        }
    }

    #[inline]
    fn admit(&mut self, pass: Pass, since: Duration) {
        if let Some(keep) = self.keep.take() {
            self.told = Ok(Lease::new(keep, pass, since));
        }
    }

    #[cold]
    fn leave_line(&mut self) {
        if let (Some(keep), Some(seat)) = (&self.keep, &self.seat) {
            // SAFETY: with a keep there, the seat has joined the line of its entry.
            unsafe { keep.entry().cancel(seat) };
        }
    }
}

impl<'h, K> Future for Wait<'h, K> {
    type Output = Result<Lease<'h, K>, Rejection>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(lease) = self.as_mut().at_once() {
            return Poll::Ready(Ok(lease));
        }
        match self.as_mut().poll_slowly(cx) {
            Poll::Ready(()) => Poll::Ready(self.take_told()),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<K> Drop for Wait<'_, K> {
    #[inline]
    fn drop(&mut self) {
        if self.seat.is_some() {
            self.leave_line();
        }
    }
}

impl<K> fmt::Debug for Wait<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("began", &self.began)
            .field("deadline", &self.deadline)
            .field("queued", &(self.seat.is_some() && self.keep.is_some()))
            .finish()
    }
}
