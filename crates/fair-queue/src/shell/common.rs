//! What a queue's handles and its slots share, and how long that lasts.
//!
//! The handles are counted, and all of them together keep it. A slot keeps it by being counted in the word, where it is
//! counted anyway: a count of its own would be two locked instructions more for every slot, a third of what it costs to
//! take a free one and give it back. Whoever is the last of all, handle or slot, frees it.

use std::ops::Deref;
use std::ptr::NonNull;

use super::Shared;
use super::line::Line;
use crate::bug::{Bug, seeded};
use crate::sync::{MutexGuard, lock};

/// Points to what is shared. For who has a handle, or a slot that was not given back; who has granted its slot to
/// another, as long as it holds the lock.
#[derive(Clone)]
pub(super) struct Common {
    shared: NonNull<Shared>,
    #[cfg(loom)]
    pub(super) life: std::sync::Arc<life::Life>,
}

// SAFETY: it stands for a shared reference, and whoever is the last of all drops what it refers to.
unsafe impl Send for Common where Shared: Send + Sync {}
// SAFETY: as above.
unsafe impl Sync for Common where Shared: Send + Sync {}

impl Common {
    pub(super) fn new(shared: Shared) -> Self {
        Self {
            shared: NonNull::from(Box::leak(Box::new(shared))),
            #[cfg(loom)]
            life: std::sync::Arc::default(),
        }
    }

    /// The last that who handed its slot over may do here: the lock, too, is a part of what is shared.
    #[inline(always)]
    pub(super) fn unlock(&self, line: MutexGuard<'_, Line>) {
        #[cfg(loom)]
        self.life.look();
        drop(line);
    }

    /// Frees what is shared.
    ///
    /// # Safety
    /// The word has said that this is the last of all.
    #[cold]
    pub(super) unsafe fn free(self) {
        if !seeded(Bug::FreeUnderLock) {
            // Who handed the last slot over holds the lock until it is done.
            drop(lock(&self.line));
        }
        #[cfg(loom)]
        self.life.end();
        // SAFETY: it came from a box, and nobody else will look at it.
        drop(unsafe { Box::from_raw(self.shared.as_ptr()) });
    }
}

impl Deref for Common {
    type Target = Shared;

    #[inline(always)]
    fn deref(&self) -> &Shared {
        #[cfg(loom)]
        self.life.look();
        // SAFETY: it is there, as its owner has a part in what keeps it.
        unsafe { self.shared.as_ref() }
    }
}

/// What all handles of a queue have together; dropped with the last of them.
pub(super) struct Handles(pub(super) Common);

impl Drop for Handles {
    fn drop(&mut self) {
        if self.0.word.orphan() {
            // SAFETY: no handle is left, and no slot was out.
            unsafe { self.0.clone().free() };
        }
    }
}

#[cfg(loom)]
pub(super) mod life {
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::sync::UnsafeCell;

    /// Touched by whoever looks at what is shared, and by who frees it: a model sees if the two meet.
    #[derive(Default)]
    pub(crate) struct Life {
        touched: UnsafeCell<()>,
        over: AtomicBool,
    }

    impl Life {
        pub(super) fn look(&self) {
            assert!(!self.is_over(), "looked at after it was freed");
            self.touched.with(|_| ());
        }

        pub(super) fn end(&self) {
            self.touched.with_mut(|_| ());
            assert!(!self.over.swap(true, Ordering::SeqCst), "freed twice");
        }

        pub(crate) fn is_over(&self) -> bool {
            self.over.load(Ordering::SeqCst)
        }
    }
}
