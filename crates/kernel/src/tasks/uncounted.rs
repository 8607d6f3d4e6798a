//! A task's own waker without a reference of its own.

use std::mem::ManuallyDrop;
use std::task::Waker;

/// The waker of a task that is there. A clone would be one locked instruction, and its end another: together half of
/// what it costs a task to wait for the first time.
pub(super) struct Uncounted(ManuallyDrop<Waker>);

impl Uncounted {
    /// # Safety
    /// What the waker refers to is there until this is dropped.
    #[inline(always)]
    pub(super) unsafe fn new(waker: &Waker) -> Self {
        // SAFETY: these are the parts of a waker; the reference they stand for is never given up.
        let same = unsafe { Waker::new(waker.data(), waker.vtable()) };
        Self(ManuallyDrop::new(same))
    }

    /// One that may outlive the task.
    pub(super) fn counted(&self) -> Waker {
        Waker::clone(&self.0)
    }
}
