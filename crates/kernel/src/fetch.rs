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
        each_line(self.start, size_of::<T>(), hint);
    }
}

/// An address in each line that so many bytes from there lie in.
#[inline(always)]
fn each_line(start: usize, bytes: usize, mut tell: impl FnMut(usize)) {
    for line in (0..bytes).step_by(LINE_BYTES) {
        tell(start + line);
    }
    // They need not begin where a line does: then there may be one line more.
    if bytes > 0 {
        tell(start + bytes - 1);
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn hint(line: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint changes nothing a program can see, and is ignored at addresses that are none.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(line)) }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn hint(line: usize) {
    // SAFETY: as on the other one.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, readonly, preserves_flags));
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(always)]
fn hint(_line: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_asked_for_and_no_other() {
        for start in 640..704 {
            for bytes in 0..300 {
                let mut asked = std::collections::BTreeSet::new();
                each_line(start, bytes, |address| {
                    asked.insert(address / LINE_BYTES);
                });
                let lies_in = (start..start + bytes).map(|byte| byte / LINE_BYTES);
                assert_eq!(asked, lies_in.collect(), "{bytes} bytes at {start}");
            }
        }
    }

    #[test]
    fn what_was_asked_for_is_as_it_was_and_what_is_gone_may_be_asked_for() {
        let value = Box::new([7u8; 300]);
        let spot = Spot::of(&*value);
        spot.fetch();
        assert_eq!(*value, [7; 300]);
        drop(value);
        spot.fetch();
    }
}
