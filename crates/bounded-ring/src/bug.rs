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
    /// A popper called between its look and its return to the line forgets the call.
    ForgetHeardCall,
    /// A nudge wakes nobody where somebody was called already: who was called will come.
    TrustTheCalled,
    /// Close wakes nobody.
    CloseSilently,
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
    /// Close does not tell those who stand in line.
    KeepRefusedWaiting,
    /// A lock is found free and taken in two steps.
    TakeInTwoSteps,
    /// A lock is given up without publishing what was done under it.
    LeaveUnordered,
    /// A call looks whether somebody attends without a fence after it was made.
    CallWithoutFence,
    /// Whoever answers goes without a second look.
    LeaveWithoutSecondLook,
}

#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn seeded(_: Bug) -> bool {
    false
}

/// The environment variable that names the bug of this process.
#[cfg(loom)]
pub(crate) const SWITCH: &str = "BOUNDED_RING_BUG";

#[cfg(loom)]
pub(crate) fn seeded(bug: Bug) -> bool {
    static SEED: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var(SWITCH).ok());
    SEED.as_ref()
        .is_some_and(|seed| *seed == format!("{bug:?}"))
}
