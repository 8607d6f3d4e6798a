//! Why a push was refused; the item always comes back.

use std::fmt;

/// A refused push, with the item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PushError<T> {
    /// No cell was free.
    Full(T),
    /// The ring was closed.
    Closed(T),
}

impl<T> PushError<T> {
    /// The item that was not taken.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(item) | Self::Closed(item) => item,
        }
    }
}

/// The item of a push into a closed ring.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed<T>(pub T);

// By hand, so that an item without `Debug` can still travel in a `Result`.
impl<T> fmt::Debug for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the ring is full",
            Self::Closed(_) => "the ring is closed",
        })
    }
}

impl<T> std::error::Error for PushError<T> {}

impl<T> fmt::Debug for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closed(..)")
    }
}

impl<T> fmt::Display for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ring is closed")
    }
}

impl<T> std::error::Error for Closed<T> {}
