//! Waiting for a slot with tokio's timer beside it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use crate::lease::Lease;
use crate::rejection::Rejection;
use crate::wait::Wait;

pin_project! {
    /// A slot in order of arrival, or a refusal when the time is over.
    #[must_use = "futures do nothing unless polled"]
    #[derive(Debug)]
    pub struct Enter<'h, K> {
        #[pin]
        wait: Wait<'h, K>,
        // Made by those who have to wait.
        #[pin]
        timer: Option<Sleep>,
    }
}

impl<'h, K> Enter<'h, K> {
    #[inline]
    pub(crate) fn new(wait: Wait<'h, K>) -> Self {
        Self { wait, timer: None }
    }

    /// The answer is left in the future.
    #[inline(never)]
    fn poll_slowly(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if this.wait.as_mut().poll_slowly(cx).is_ready() {
            return Poll::Ready(());
        }
        if this.timer.is_none() {
            this.timer.set(Some(sleep(this.wait.remaining())));
        }
        let over = this.timer.as_pin_mut().map(|timer| timer.poll(cx));
        match over {
            Some(Poll::Ready(())) => {
                this.wait.end();
                Poll::Ready(())
            }
            Some(Poll::Pending) | None => Poll::Pending,
        }
    }
}

impl<'h, K> Future for Enter<'h, K> {
    type Output = Result<Lease<'h, K>, Rejection>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(lease) = self.as_mut().project().wait.at_once() {
            return Poll::Ready(Ok(lease));
        }
        match self.as_mut().poll_slowly(cx) {
            Poll::Ready(()) => Poll::Ready(self.project().wait.take_told()),
            Poll::Pending => Poll::Pending,
        }
    }
}
