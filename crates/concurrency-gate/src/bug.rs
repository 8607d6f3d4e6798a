//! Mistakes the models must catch: a model run may seed one, any other build is compiled without
//! them.

/// A mistake that was, or could easily have been, made in this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The count is read and written in two steps.
    CountInTwoSteps,
    /// A freed slot goes back to the count even when somebody stands in line.
    FreeInsteadOfHandOver,
    /// A leaving caller looks for waiters before it frees its slot, not after.
    LookOnce,
    /// A cancelled waiter keeps the slot it had been handed.
    KeepSlotOnCancel,
    /// A waiter is called before its answer is written.
    CallBeforeAnswer,
    /// A waiter that another task polls goes on waking the first one.
    KeepOldWaker,
    /// A waiter joins the line without telling the word.
    JoinUnseen,
    /// A raised limit does not call those who wait.
    RaiseSilently,
    /// A slot is handed over although more are inside than the lowered limit allows.
    HandOverDebt,
    /// Close does not tell those who wait.
    CloseSilently,
    /// An entry is evicted because nobody is inside, although somebody holds a handle to it.
    EvictUnderHandle,
    /// Probes are not counted while they are out.
    ProbesUncounted,
    /// The breaker opens without telling the word.
    OpenUnseen,
}

#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub(crate) const fn seeded(_: Bug) -> bool {
    false
}

/// The environment variable that names the bug of this process.
#[cfg(any(loom, shuttle))]
pub(crate) const SWITCH: &str = "CONCURRENCY_GATE_BUG";

#[cfg(any(loom, shuttle))]
pub(crate) fn seeded(bug: Bug) -> bool {
    static SEED: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var(SWITCH).ok());
    SEED.as_ref()
        .is_some_and(|seed| *seed == format!("{bug:?}"))
}
