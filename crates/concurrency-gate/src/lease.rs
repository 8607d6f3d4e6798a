//! A slot in use: it cannot be copied, and its end is the only release.

use std::fmt;
use std::time::Duration;

use crate::entry::{Entry, Pass, Verdict};
use crate::handle::Node;
use crate::sync::Arc;

/// A slot. Dropping it gives the slot back without a word on the work ([`ignore`](Self::ignore)),
/// unless a panic drops it: that is a [`failure`](Self::failure).
#[must_use = "the slot is given back as soon as the lease is dropped"]
pub struct Lease<'h, K> {
    /// `None` once the slot was given back or passed to another lease.
    keep: Option<Keep<'h, K>>,
    since: Duration,
    pass: Pass,
}

/// How the entry is kept alive: by a handle that outlives the lease, or by the lease itself.
pub(crate) enum Keep<'h, K> {
    Borrowed(&'h Arc<Node<K>>),
    Owned(Arc<Node<K>>),
}

impl<K> Keep<'_, K> {
    #[inline]
    pub(crate) fn entry(&self) -> &Entry {
        match self {
            Self::Borrowed(node) => &node.entry,
            Self::Owned(node) => &node.entry,
        }
    }

    fn into_owned(self) -> Keep<'static, K> {
        Keep::Owned(match self {
            Self::Borrowed(node) => Arc::clone(node),
            Self::Owned(node) => node,
        })
    }
}

impl<'h, K> Lease<'h, K> {
    #[inline]
    pub(crate) fn new(keep: Keep<'h, K>, pass: Pass, since: Duration) -> Self {
        Self {
            keep: Some(keep),
            since,
            pass,
        }
    }

    /// The work did what it was for.
    #[inline]
    pub fn success(mut self, now: Duration) {
        let since = self.since;
        self.end(|_| Verdict::Success { since, now });
    }

    /// The work failed or timed out.
    #[inline]
    pub fn failure(mut self, now: Duration) {
        let since = self.since;
        self.end(|_| Verdict::Failure { since, now });
    }

    /// The work says nothing about the health of what it used, as when its caller went away.
    pub fn ignore(self) {}

    /// When the slot was taken.
    pub fn since(&self) -> Duration {
        self.since
    }

    /// The same slot, free of the handle's lifetime.
    pub fn into_owned(mut self) -> Lease<'static, K> {
        Lease {
            keep: self.keep.take().map(Keep::into_owned),
            since: self.since,
            pass: self.pass,
        }
    }

    #[inline]
    fn end(&mut self, verdict: impl FnOnce(&Entry) -> Verdict) {
        if let Some(keep) = self.keep.take() {
            let entry = keep.entry();
            entry.leave(self.pass, verdict(entry));
        }
    }
}

impl<K> Drop for Lease<'_, K> {
    #[inline]
    fn drop(&mut self) {
        let since = self.since;
        self.end(|entry| {
            if entry.hears_panics() && std::thread::panicking() {
                Verdict::Panicked { since }
            } else {
                Verdict::Ignored
            }
        });
    }
}

impl<K> fmt::Debug for Lease<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("since", &self.since)
            .finish_non_exhaustive()
    }
}
