//! Asking for memory a moment before it is needed.

/// Begins to bring the cache line of this address near; nothing is read, whatever is there.
#[inline(always)]
pub(crate) fn prefetch(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint to the processor, which ignores addresses that are nobody's.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
