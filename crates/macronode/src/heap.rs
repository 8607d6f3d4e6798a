//! The heap: mimalloc, asked by its shortest way for whatever needs no alignment of its own.
//!
//! The usual binding asks for an alignment every time, and mimalloc then looks for one, and takes more than was asked
//! for, where each of its blocks has it already: half of what an allocation costs.

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc,
    mi_zalloc_aligned,
};

/// Every block at least this large has this alignment (`MI_MAX_ALIGN_SIZE`); a smaller one that of its size.
const NATURAL: usize = 16;

pub(crate) struct Heap;

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
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller has the block from one of the others, and gives it back once.
        unsafe { mi_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller has the block from one of the others; what it becomes is as above.
        unsafe {
            match is_natural(size, layout.align()) {
                true => mi_realloc(block.cast(), size).cast(),
                false => mi_realloc_aligned(block.cast(), size, layout.align()).cast(),
            }
        }
    }
}

#[cfg(test)]
mod tests;
