//! Waiting for a slot with tokio's timer beside it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Sleep, sleep};

use crate::lease::Lease;
use crate::rejection::Rejection;
use crate::wait::Wait;

/// A slot in order of arrival, or a refusal when the time is over.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Enter<'h, K> {
    wait: Wait<'h, K>,
    /// Made by those who have to wait: a timer is several times as large as the rest, and the rest
    /// is moved around.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'h, K> Enter<'h, K> {
    #[inline]
    pub(crate) fn new(wait: Wait<'h, K>) -> Self {
        Self { wait, timer: None }
    }

    #[inline(never)]
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Result<Lease<'h, K>, Rejection>> {
        let Self { wait, timer } = self;
        let timer = timer.get_or_insert_with(|| Box::pin(sleep(wait.remaining())));
        match timer.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(wait.expire()),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<'h, K> Future for Enter<'h, K> {
    type Output = Result<Lease<'h, K>, Rejection>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match Pin::new(&mut this.wait).poll(cx) {
            Poll::Ready(entered) => Poll::Ready(entered),
            Poll::Pending => this.poll_timer(cx),
        }
    }
}
