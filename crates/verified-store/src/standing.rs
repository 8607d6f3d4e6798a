//! Whether the disk takes writes, and who finds out when it does again.

use crate::{Shortage, StoreError};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Whether new things can be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The last write that was tried succeeded.
    Good,
    /// It did not. What is stored is still served; of those who want to write one at a time tries, the others are
    /// told at once.
    Degraded {
        /// What the disk said.
        why: Why,
    },
}

/// Why nothing can be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No space, no inodes, no quota.
    Full,
    /// Mounted read-only.
    ReadOnly,
    /// Any other failure.
    Failing,
}

impl Why {
    /// A word for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::ReadOnly => "read-only",
            Self::Failing => "failing",
        }
    }

    fn error(self) -> StoreError {
        match self {
            Self::Full => StoreError::Full(Shortage::Disk),
            Self::ReadOnly => StoreError::ReadOnly,
            Self::Failing => {
                StoreError::Io(io::Error::other("it failed before, and a try is under way"))
            }
        }
    }
}

/// Lets everybody write to a good disk, and one at a time to a bad one.
#[derive(Debug, Default)]
pub(crate) struct Gate(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// 0 is good; the others are the numbers of `Why`.
    why: AtomicU8,
    probing: AtomicBool,
}

/// Leave to write. If it is the one try at a bad disk, its end lets the next one try.
#[derive(Debug)]
pub(crate) struct Pass(Option<Arc<State>>);

impl Gate {
    pub(crate) fn standing(&self) -> Standing {
        let why = match self.0.why.load(Ordering::Acquire) {
            0 => return Standing::Good,
            1 => Why::Full,
            2 => Why::ReadOnly,
            _ => Why::Failing,
        };
        Standing::Degraded { why }
    }

    /// Leave to write, or what is wrong.
    pub(crate) fn pass(&self) -> Result<Pass, StoreError> {
        let Standing::Degraded { why } = self.standing() else {
            return Ok(Pass(None));
        };
        if self.0.probing.swap(true, Ordering::AcqRel) {
            return Err(why.error());
        }
        Ok(Pass(Some(Arc::clone(&self.0))))
    }

    pub(crate) fn good(&self) {
        self.0.why.store(0, Ordering::Release);
    }

    /// Takes notice of an error if it is the disk's.
    pub(crate) fn bad(&self, error: &StoreError) {
        let why = match error {
            StoreError::Full(Shortage::Disk) => 1,
            StoreError::ReadOnly => 2,
            StoreError::Io(_) => 3,
            _ => return,
        };
        self.0.why.store(why, Ordering::Release);
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some(state) = &self.0 {
            state.probing.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests;
