//! A value alone on its cache lines.

use std::ops::Deref;

/// Two lines, because neighbouring ones are fetched in pairs.
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
