//! What is said of a body while it is sent on, and after.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use http_rules::decode::BadBody;

use crate::reject::Refusal;

/// What is told of a body to whoever sent it on: why it ended early, since the upstream's side only sees that it did,
/// and how its client gets on.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    code: AtomicU8,
    /// The answer has begun; from then on a body may take its time.
    answered: AtomicBool,
    /// For how long its client was waited for, in microseconds.
    waited_us: AtomicU64,
    /// It is slow, which whoever waits for the answer is woken for.
    slow: AtomicBool,
    sender: AtomicWaker,
}

/// How a body may fail.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the request body cannot be sent on: {}", .0.reason())]
pub(crate) struct Spoiled(pub(crate) Refusal);

const CODES: [Refusal; 4] = [
    Refusal::BodyTooLarge,
    Refusal::BodySlow,
    Refusal::BodyBroken,
    Refusal::ClientGone,
];

impl Verdict {
    pub(super) fn say(&self, refusal: Refusal) -> Spoiled {
        let code = match refusal {
            Refusal::BodyTooLarge => 1,
            Refusal::BodySlow => 2,
            Refusal::BodyBroken => 3,
            Refusal::Coding(bad) => 16 + bad as u8,
            _ => 4,
        };
        self.code.store(code, Ordering::Relaxed);
        Spoiled(refusal)
    }

    /// From now on a body may take its time.
    pub(crate) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Its client was waited for so long once more.
    pub(super) fn add_wait(&self, waited: Duration) {
        let waited_us = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
        self.waited_us.fetch_add(waited_us, Ordering::Relaxed);
    }

    /// For how long its client was waited for.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Ordering::Relaxed))
    }

    /// Ready while its client is slow.
    pub(crate) fn poll_slow(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.sender.register(cx.waker());
        match self.slow.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    pub(super) fn slows_down(&self) {
        self.slow.store(true, Ordering::Release);
        self.sender.wake();
    }

    pub(super) fn is_slow_no_more(&self) {
        self.slow.store(false, Ordering::Relaxed);
    }

    /// What was wrong with the body, if anything.
    pub(crate) fn get(&self) -> Option<Refusal> {
        match self.code.load(Ordering::Relaxed) {
            0 => None,
            code @ 1..=4 => CODES.get(usize::from(code) - 1).cloned(),
            code => BadBody::ALL
                .iter()
                .find(|bad| **bad as u8 + 16 == code)
                .map(|bad| Refusal::Coding(*bad)),
        }
    }
}
