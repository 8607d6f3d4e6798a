//! Futures without a runtime: polled by hand, or blocked on.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// Counts the wake-ups it gets.
#[derive(Debug, Default)]
pub struct Bell(AtomicUsize);

impl Bell {
    /// A bell and the waker that rings it.
    pub fn new() -> (Arc<Self>, Waker) {
        let bell = Arc::new(Self::default());
        let waker = Waker::from(Arc::clone(&bell));
        (bell, waker)
    }

    /// Wake-ups so far.
    pub fn rings(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls once.
pub fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Polls once with a waker that nobody hears, as a task does that is canceled afterwards.
pub fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match poll(future, Waker::noop()) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Parks this thread until `future` is done.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        std::thread::park();
    }
}
