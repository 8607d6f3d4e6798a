//! Mistakes the models must catch: a model run may seed one, any other build is compiled without
//! them.

/// A mistake that was, or could easily have been, made in this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The cell is marked full before the item is in it.
    PublishBeforeWrite,
    /// A popper goes to sleep without a second look at the ring.
    SleepWithoutSecondLook,
    /// A pusher looks for waiters without a fence after its item.
    LookWithoutFence,
    /// A cancelled popper keeps the wake-up it had got.
    KeepWakeOnCancel,
    /// Close wakes one popper, not all.
    CloseWakesOne,
    /// The lock is given up between eviction and push.
    EvictAndPushApart,
    /// The lock is given up between finding the pending item and replacing it.
    FindAndReplaceApart,
    /// The count of slots is read and written in two steps.
    CountInTwoSteps,
    /// A cancelled seeker keeps the slot it had been handed.
    KeepSlotOnCancel,
    /// A freed slot goes back to the count even when somebody stands in line.
    FreeInsteadOfHandOver,
    /// The last release does not look for those who wait for idleness.
    IdleUnwatched,
}

#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn seeded(_: Bug) -> bool {
    false
}

#[cfg(loom)]
pub(crate) use switch::{seeded, with};

#[cfg(loom)]
mod switch {
    use super::Bug;
    use std::cell::Cell;

    // Per test thread: all threads of a loom model run on the one that started it.
    std::thread_local! {
        static SEEDED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    pub(crate) fn seeded(bug: Bug) -> bool {
        SEEDED.get() == Some(bug)
    }

    /// Runs `body` with the bug in place.
    pub(crate) fn with<R>(bug: Bug, body: impl FnOnce() -> R) -> R {
        SEEDED.set(Some(bug));
        let result = body();
        SEEDED.set(None);
        result
    }
}
