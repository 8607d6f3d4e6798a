//! Mistakes the models must catch: a model run may seed one, any other build is compiled without
//! them.

/// A mistake that could easily have been made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The word is read and written in two steps.
    ChargeInTwoSteps,
    /// An entry is given to another key without a mark that it changes hands.
    EvictUnmarked,
    /// A new key is put in without a second look for it under the lock.
    InsertUnseen,
    /// The key is not looked at again after its word was read.
    TrustFirstLook,
}

#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn seeded(_: Bug) -> bool {
    false
}

/// The environment variable that names the bug of this process.
#[cfg(loom)]
pub(crate) const SWITCH: &str = "RATE_QUOTA_BUG";

#[cfg(loom)]
pub(crate) fn seeded(bug: Bug) -> bool {
    static SEED: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var(SWITCH).ok());
    SEED.as_ref()
        .is_some_and(|seed| *seed == format!("{bug:?}"))
}
