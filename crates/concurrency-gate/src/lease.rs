//! A slot in use: it cannot be copied, and its end is the only release.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::time::Duration;

use crate::entry::{Pass, Verdict};
use crate::handle::Node;
use crate::keep::{Hold, Keep};

/// A slot. Dropping it gives the slot back without a word on the work ([`ignore`](Self::ignore)),
/// unless a panic drops it: that is a [`failure`](Self::failure).
#[must_use = "the slot is given back as soon as the lease is dropped"]
pub struct Lease<'h, K> {
    node: NonNull<Node<K>>,
    /// When the slot was taken, in microseconds modulo 2^40: enough to tell how long it was held,
    /// up to six days.
    since_low: u32,
    since_high: u8,
    kind: Kind,
    epoch: u16,
    keep: PhantomData<Keep<'h, K>>,
}

/// Two words and a result of a poll still in two words: a lease is handed through registers.
const _: () = assert!(size_of::<std::task::Poll<Result<Lease<'_, u64>, crate::Rejection>>>() == 16);

/// How the node is held, and whether a breaker waits for the outcome.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Borrowed,
    Owned,
    BorrowedProbe,
    OwnedProbe,
}

const SINCE_MASK: u64 = (1 << 40) - 1;

#[inline]
fn micros(time: Duration) -> u64 {
    time.as_secs().wrapping_mul(1_000_000) + u64::from(time.subsec_micros())
}

impl<'h, K> Lease<'h, K> {
    #[inline]
    pub(crate) fn new(keep: Keep<'h, K>, pass: Pass, now: Duration) -> Self {
        let (node, hold) = keep.into_parts();
        let since = micros(now);
        let kind = match (hold, pass.probe) {
            (Hold::Borrowed, false) => Kind::Borrowed,
            (Hold::Owned, false) => Kind::Owned,
            (Hold::Borrowed, true) => Kind::BorrowedProbe,
            (Hold::Owned, true) => Kind::OwnedProbe,
        };
        Self {
            node,
            since_low: since as u32,
            since_high: (since >> 32) as u8,
            kind,
            epoch: pass.epoch,
            keep: PhantomData,
        }
    }

    /// The work did what it was for.
    #[inline]
    pub fn success(self, now: Duration) {
        let hold = self.held(now);
        ManuallyDrop::new(self).end(Verdict::Success { hold, now });
    }

    /// The work failed or timed out.
    #[inline]
    pub fn failure(self, now: Duration) {
        let hold = self.held(now);
        ManuallyDrop::new(self).end(Verdict::Failure { hold, now });
    }

    /// The work says nothing about the health of what it used, as when its caller went away.
    pub fn ignore(self) {
        ManuallyDrop::new(self).end_quietly();
    }

    /// A clock that stepped back gives no hold time rather than one of days.
    fn held(&self, now: Duration) -> Duration {
        let since = u64::from(self.since_high) << 32 | u64::from(self.since_low);
        let held = micros(now).wrapping_sub(since) & SINCE_MASK;
        Duration::from_micros(if held > SINCE_MASK / 2 { 0 } else { held })
    }

    /// The same slot, free of the handle's lifetime.
    pub fn into_owned(self) -> Lease<'static, K> {
        let mut this = ManuallyDrop::new(self);
        let (node, _) = this.keep().into_owned().into_parts();
        let kind = match this.kind {
            Kind::Borrowed | Kind::Owned => Kind::Owned,
            Kind::BorrowedProbe | Kind::OwnedProbe => Kind::OwnedProbe,
        };
        Lease {
            node,
            since_low: this.since_low,
            since_high: this.since_high,
            kind,
            epoch: this.epoch,
            keep: PhantomData,
        }
    }

    /// Only from where the lease is not used afterwards.
    #[inline]
    fn keep(&mut self) -> Keep<'h, K> {
        let hold = match self.kind {
            Kind::Borrowed | Kind::BorrowedProbe => Hold::Borrowed,
            Kind::Owned | Kind::OwnedProbe => Hold::Owned,
        };
        // SAFETY: they came from a keep when the lease was made; whoever calls this ends the lease.
        unsafe { Keep::from_parts(self.node, hold) }
    }

    #[inline(never)]
    fn drop_slowly(&mut self) {
        if std::thread::panicking() {
            self.end(Verdict::Panicked);
        } else {
            self.end_quietly();
        }
    }

    /// Without an outcome, which only the breaker of a probe has to hear of.
    #[inline]
    fn end_quietly(&mut self) {
        if matches!(self.kind, Kind::BorrowedProbe | Kind::OwnedProbe) {
            return self.end(Verdict::Ignored);
        }
        self.keep().entry().release(None);
    }

    #[inline]
    fn end(&mut self, verdict: Verdict) {
        let pass = Pass {
            epoch: self.epoch,
            probe: matches!(self.kind, Kind::BorrowedProbe | Kind::OwnedProbe),
        };
        self.keep().entry().leave(pass, verdict);
    }
}

impl<K> Drop for Lease<'_, K> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.kind == Kind::Borrowed && !std::thread::panicking() {
            self.keep().entry().release(None);
        } else {
            self.drop_slowly();
        }
    }
}

// SAFETY: it is a keep and numbers.
unsafe impl<'h, K> Send for Lease<'h, K> where Keep<'h, K>: Send {}
// SAFETY: as above.
unsafe impl<'h, K> Sync for Lease<'h, K> where Keep<'h, K>: Sync {}

impl<K> fmt::Debug for Lease<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}
