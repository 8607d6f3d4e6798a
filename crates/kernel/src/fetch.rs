//! Memory that is needed in a moment, asked for at once.
//!
//! Of many connections each finds its own memory cold when its turn comes, and comes upon it line by line: every one is
//! waited for before the address of the next is known. Who knows what will be touched asks for all of it first, and
//! waits once.

use std::marker::PhantomData;

/// What a processor moves between memory and its caches.
const LINE_BYTES: usize = 64;

/// Where something lies that will be needed, for who cannot hold it until then.
pub struct Spot<T> {
    start: usize,
    what: PhantomData<fn() -> T>,
}

impl<T> Spot<T> {
    /// Where this lies.
    #[inline]
    pub fn of(value: &T) -> Self {
        Self {
            start: std::ptr::from_ref(value).addr(),
            what: PhantomData,
        }
    }

    /// Asks for all of it. Nothing is read: what lay there may be gone, which makes this useless and no more.
    #[inline]
    pub fn fetch(&self) {
        for line in (0..size_of::<T>()).step_by(LINE_BYTES) {
            hint(self.start + line);
        }
        // It need not begin where a line does: then there is one line more.
        if align_of::<T>() < LINE_BYTES && size_of::<T>() > 0 {
            hint(self.start + size_of::<T>() - 1);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint(line: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint changes nothing a program can see, and is ignored at addresses that are none.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(line)) }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn hint(line: usize) {
    // SAFETY: as on the other one.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, readonly, preserves_flags));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn hint(_line: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_may_be_asked_for_even_what_is_gone() {
        Spot::of(&()).fetch();
        Spot::of(&[7u8; 300]).fetch();
        let gone = Spot::of(&*Box::new([0u64; 9]));
        gone.fetch();
        let nowhere = Spot::<[u8; 300]> {
            start: 8,
            what: PhantomData,
        };
        nowhere.fetch();
    }
}
