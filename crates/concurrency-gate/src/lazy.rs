//! A part that is allocated when it is first needed: one pointer until then.

use std::ptr;

use crate::sync::{AtomicPtr, Ordering};

pub(crate) struct Lazy<T> {
    /// Null, or a box that nobody but this cell frees, and only with itself.
    pointer: AtomicPtr<T>,
}

impl<T> Lazy<T> {
    pub(crate) fn new() -> Self {
        Self {
            pointer: AtomicPtr::new(ptr::null_mut()),
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        let pointer = self.pointer.load(Ordering::Acquire);
        // SAFETY: a pointer that is not null came from a box, was published with release, and is
        // valid as long as this cell.
        unsafe { pointer.as_ref() }
    }

    /// Several may make one at once; the first is kept.
    #[cold]
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(made) = self.get() {
            return made;
        }
        let fresh = Box::into_raw(Box::new(make()));
        let swapped = self.pointer.compare_exchange(
            ptr::null_mut(),
            fresh,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        let kept = match swapped {
            Ok(_) => fresh,
            Err(earlier) => {
                // SAFETY: it was not published, so it is still ours alone.
                drop(unsafe { Box::from_raw(fresh) });
                earlier
            }
        };
        // SAFETY: as in `get`.
        unsafe { &*kept }
    }
}

impl<T> Drop for Lazy<T> {
    fn drop(&mut self) {
        let pointer = self.pointer.load(Ordering::Acquire);
        if !pointer.is_null() {
            // SAFETY: the box is this cell's, and nobody can borrow from the cell any more.
            drop(unsafe { Box::from_raw(pointer) });
        }
    }
}

// SAFETY: the cell owns its part like a box and hands out shared references to it.
unsafe impl<T: Send + Sync> Send for Lazy<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Lazy<T> {}
