//! The heap: mimalloc, asked by its shortest way for whatever needs no alignment of its own.
//!
//! The usual binding asks for an alignment every time, and mimalloc then looks for one, and takes more than was asked
//! for, where each of its blocks has it already: half of what an allocation costs.

use std::alloc::{GlobalAlloc, Layout};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc,
    mi_zalloc_aligned,
};

/// Every block at least this large has this alignment (`MI_MAX_ALIGN_SIZE`); a smaller one that of its size.
const NATURAL: usize = 16;

/// The allocator.
#[derive(Debug)]
pub struct Heap;

/// Whether what is freed is wiped first. It is until the config is known, which may hold a secret and may ask for it.
static WIPES: AtomicBool = AtomicBool::new(true);

/// From now on, everything that is freed is wiped first; or nothing.
pub(crate) fn wipe_what_is_freed(wipe: bool) {
    WIPES.store(wipe, Ordering::Relaxed);
}

/// Whether what is freed is wiped first.
#[inline]
pub(crate) fn is_wiped() -> bool {
    WIPES.load(Ordering::Relaxed)
}

/// Zeroes, whoever thinks that nobody will read them.
///
/// # Safety
/// The bytes belong to the caller, and nobody else looks at them.
#[cold]
unsafe fn wipe(bytes: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { bytes.write_bytes(0, count) };
    black_box(bytes);
}

fn is_natural(size: usize, align: usize) -> bool {
    align <= NATURAL && align <= size
}

// SAFETY: mimalloc hands out blocks of at least the size asked for that nobody else has, aligned as asked for or, where
// that is natural, of themselves; it takes back any of them by their address alone.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: any size may be asked for; an alignment of a layout is a power of two.
        unsafe {
            match is_natural(size, align) {
                true => mi_malloc(size).cast(),
                false => mi_malloc_aligned(size, align).cast(),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: as above.
        unsafe {
            match is_natural(size, align) {
                true => mi_zalloc(size).cast(),
                false => mi_zalloc_aligned(size, align).cast(),
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_wiped() {
            // SAFETY: the caller gives back all of it.
            unsafe { wipe(block, layout.size()) };
        }
        // SAFETY: the caller has the block from one of the others, and gives it back once.
        unsafe { mi_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_wiped() {
            // SAFETY: the caller's promises are those of this one too.
            return unsafe { self.move_and_wipe(block, layout, size) };
        }
        // SAFETY: the caller has the block from one of the others; what it becomes is as above.
        unsafe {
            match is_natural(size, layout.align()) {
                true => mi_realloc(block.cast(), size).cast(),
                false => mi_realloc_aligned(block.cast(), size, layout.align()).cast(),
            }
        }
    }
}

impl Heap {
    /// As `realloc`, and nothing stays behind where the block was.
    ///
    /// # Safety
    /// As that of `realloc`.
    #[cold]
    unsafe fn move_and_wipe(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that this is a layout. The blocks are apart, and each is as large as is copied.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(block, layout.size().min(size));
                wipe(block, layout.size());
                mi_free(block.cast());
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests;
