//! How a lease or a waiter holds on to its entry: by a handle that outlives it, or by a reference
//! of its own.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::entry::Entry;
use crate::handle::Node;
use crate::sync::Arc;

pub(crate) struct Keep<'h, K> {
    /// From an `Arc`, which lives for `'h` or is ours.
    node: NonNull<Node<K>>,
    hold: Hold,
    handle: PhantomData<(&'h Node<K>, Arc<Node<K>>)>,
}

/// Whose reference keeps the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// A handle's.
    Borrowed,
    /// The holder's own; to be given back once.
    Owned,
}

impl<'h, K> Keep<'h, K> {
    #[inline]
    pub(crate) fn borrowed(node: &'h Arc<Node<K>>) -> Self {
        Self::new(Arc::as_ptr(node), Hold::Borrowed)
    }

    #[inline]
    pub(crate) fn owned(node: Arc<Node<K>>) -> Self {
        Self::new(Arc::into_raw(node), Hold::Owned)
    }

    #[inline]
    fn new(node: *const Node<K>, hold: Hold) -> Self {
        // SAFETY: it comes from an `Arc`, which never points to nothing.
        let node = unsafe { NonNull::new_unchecked(node.cast_mut()) };
        Self {
            node,
            hold,
            handle: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn entry(&self) -> &Entry {
        // SAFETY: the node lives as long as the handle or the reference does.
        unsafe { &self.node.as_ref().entry }
    }

    /// The parts, for somebody who packs them tighter and puts them together again.
    #[inline]
    pub(crate) fn into_parts(self) -> (NonNull<Node<K>>, Hold) {
        let this = std::mem::ManuallyDrop::new(self);
        (this.node, this.hold)
    }

    /// # Safety
    /// The parts come from one call of [`into_parts`](Self::into_parts) on a keep of the same
    /// lifetime, and come back once.
    #[inline]
    pub(crate) unsafe fn from_parts(node: NonNull<Node<K>>, hold: Hold) -> Self {
        Self {
            node,
            hold,
            handle: PhantomData,
        }
    }

    pub(crate) fn into_owned(self) -> Keep<'static, K> {
        let (node, hold) = self.into_parts();
        if hold == Hold::Borrowed {
            // SAFETY: the pointer came from an `Arc` that lives at least until this returns.
            unsafe { Arc::increment_strong_count(node.as_ptr()) };
        }
        Keep {
            node,
            hold: Hold::Owned,
            handle: PhantomData,
        }
    }
}

impl<K> Drop for Keep<'_, K> {
    #[inline]
    fn drop(&mut self) {
        if self.hold == Hold::Owned {
            // SAFETY: the reference is ours and is given back here only.
            drop(unsafe { Arc::from_raw(self.node.as_ptr()) });
        }
    }
}

// SAFETY: it is no more than a reference and an `Arc`, both of which may go to another thread if
// the node may be shared.
unsafe impl<K: Send + Sync> Send for Keep<'_, K> {}
// SAFETY: as above.
unsafe impl<K: Send + Sync> Sync for Keep<'_, K> {}
