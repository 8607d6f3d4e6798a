//! Ties the body of a request to whoever waits for its answer: once nobody does, it is sent no further.
//!
//! The codec sends a body in a task of its own, which lasts until the peer has taken all of it. A peer that has said
//! all it has to say may never do that, and who sends the body would wait with it.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use kernel::clock;
use kernel::tasks::Spawner;
use pin_project_lite::pin_project;
use tokio::time::Instant;

use crate::outgoing::{BoxError, Outgoing};

thread_local! {
    /// Of the body that was first asked for something last. The codec does that right before it makes the task that
    /// goes on with it, on the same thread and without a pause.
    static NEWBORN: RefCell<Option<Arc<Tether>>> = const { RefCell::new(None) };
}

#[derive(Debug, Default)]
struct Tether {
    cut: AtomicBool,
    task: AtomicWaker,
    /// More of the body is waited for: the peer has room for it.
    lacks: AtomicBool,
    /// When that was so first.
    lacked_at: OnceLock<Instant>,
    /// The body has failed. The codec keeps to itself why it gave the stream up then.
    failed: AtomicBool,
}

impl Tether {
    fn note(&self, lacks: bool) {
        if lacks {
            self.lacked_at.get_or_init(clock::now);
        }
        self.lacks.store(lacks, Ordering::Relaxed);
    }
}

/// The end of whoever waits for the answer.
#[derive(Debug, Default)]
pub(super) struct Held(Arc<Tether>);

impl Held {
    /// Ties a body to it.
    pub(super) fn tie(&self, body: Outgoing) -> Tied {
        let tether = match body {
            Outgoing::Empty => None,
            Outgoing::Stream(_) => Some(self.0.clone()),
        };
        Tied {
            body,
            newborn: tether.is_some(),
            tether,
        }
    }

    /// Since when the rest of the body has been waited for, if that is what is waited for.
    pub(super) fn lacks_since(&self) -> Option<Instant> {
        let lacks = self.0.lacks.load(Ordering::Relaxed);
        self.0.lacked_at.get().copied().filter(|_| lacks)
    }

    /// Whether the body has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.0.failed.load(Ordering::Acquire)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.cut.store(true, Ordering::Release);
        self.0.task.wake();
    }
}

/// A body that is tied.
pub(crate) struct Tied {
    body: Outgoing,
    tether: Option<Arc<Tether>>,
    /// Nothing has been asked of it.
    newborn: bool,
}

impl Tied {
    /// The body itself, of which nobody has asked for anything.
    pub(super) fn loose(self) -> Outgoing {
        self.body
    }
}

impl Body for Tied {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if std::mem::take(&mut self.newborn) {
            NEWBORN.set(self.tether.clone());
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Some(tether) = &self.tether {
            tether.note(polled.is_pending());
            if matches!(polled, Poll::Ready(Some(Err(_)))) {
                tether.failed.store(true, Ordering::Release);
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Runs what a connection wants to have run among the pool's tasks.
#[derive(Clone)]
pub(super) struct Tasks(pub(super) Spawner);

impl<F> Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, work: F) {
        match NEWBORN.take() {
            Some(tether) => drop(self.0.spawn(Leashed { work, tether })),
            None => drop(self.0.spawn(work)),
        }
    }
}

pin_project! {
    /// A task that sends a body; or, where all of the body went at once, the one that waits for the answer's head.
    struct Leashed<F> {
        #[pin]
        work: F,
        tether: Arc<Tether>,
    }
}

impl<F: Future<Output = ()>> Future for Leashed<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        this.tether.task.register(cx.waker());
        match this.tether.cut.load(Ordering::Acquire) {
            // Nobody holds the stream any more then, and the peer is told so.
            true => Poll::Ready(()),
            false => this.work.poll(cx),
        }
    }
}
