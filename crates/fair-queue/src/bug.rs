//! Mistakes the models must catch: a model run may seed one, any other build is compiled without
//! them.

/// A mistake that could easily have been made in the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A free slot is seen and taken in two steps.
    TakeInTwoSteps,
    /// A slot is given back to the count though somebody waits.
    FreeInsteadOfHandOver,
    /// A waiter looks for a free slot and says that it waits in two steps.
    QueueInTwoSteps,
    /// A waiter hears its answer before the line has let go of it.
    AnswerTooEarly,
    /// A waiter that another task polls goes on waking the first one.
    KeepOldWaker,
    /// A cancelled waiter keeps the slot it had been handed.
    KeepSlotOnCancel,
    /// After the last waiter the mark that somebody waits stays.
    LeaveMark,
    /// Close does not tell those who wait.
    CloseSilently,
    /// New slots are not offered to those who wait.
    GrowSilently,
    /// A shrunken limit is ignored by whoever hands over.
    HandOverInDebt,
    /// What is shared is freed while who handed the last slot over still holds its lock.
    FreeUnderLock,
    /// A slot is given back first and counted as ended then.
    CountTooLate,
}

#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub(crate) const fn seeded(_: Bug) -> bool {
    false
}

/// The environment variable that names the bug of this process.
#[cfg(any(loom, shuttle))]
pub(crate) const SWITCH: &str = "FAIR_QUEUE_BUG";

#[cfg(any(loom, shuttle))]
pub(crate) fn seeded(bug: Bug) -> bool {
    static SEED: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var(SWITCH).ok());
    SEED.as_ref()
        .is_some_and(|seed| *seed == format!("{bug:?}"))
}
