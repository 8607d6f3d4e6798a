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
    /// A slot in order of arrival, or a refusal when the time is over. The timer is set only by
    /// those who have to wait.
    #[must_use = "futures do nothing unless polled"]
    #[derive(Debug)]
    pub struct Enter<'h, K> {
        wait: Wait<'h, K>,
        #[pin]
        timer: Option<Sleep>,
    }
}

impl<'h, K> Enter<'h, K> {
    pub(crate) fn new(wait: Wait<'h, K>) -> Self {
        Self { wait, timer: None }
    }
}

impl<'h, K> Future for Enter<'h, K> {
    type Output = Result<Lease<'h, K>, Rejection>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Poll::Ready(entered) = Pin::new(&mut *this.wait).poll(cx) {
            return Poll::Ready(entered);
        }
        if this.timer.is_none() {
            this.timer.set(Some(sleep(this.wait.remaining())));
        }
        match this.timer.as_pin_mut().map(|timer| timer.poll(cx)) {
            Some(Poll::Ready(())) => Poll::Ready(this.wait.expire()),
            _ => Poll::Pending,
        }
    }
}
