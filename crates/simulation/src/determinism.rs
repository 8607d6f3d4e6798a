//! What a seed does not decide by itself: the keys of hash maps, the branches `select!` looks at first.
//!
//! Both come from the system's random bytes, through the C library. This takes its place, so that a process begins
//! each time with the same ones. Where blocks of memory lie must not differ either: some hashers mix addresses in.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(0x5eed);

/// The C library's function, without its randomness.
///
/// # Safety
/// `buffer` has room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, _flags: u32) -> isize {
    for index in 0..length {
        let word = NEXT.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { buffer.add(index).write((word >> 56) as u8) };
    }
    length as isize
}

/// Begins this process anew where memory lies in the same places each time, unless it does already.
pub fn fix_addresses() -> std::io::Result<()> {
    const KEPT: u64 = 0xffff_ffff;
    // SAFETY: asks for and sets a property of this process; nothing is shared with the call.
    let now = unsafe { libc::personality(KEPT) };
    if now & libc::ADDR_NO_RANDOMIZE != 0 {
        return Ok(());
    }
    // SAFETY: as above.
    let set = unsafe { libc::personality((now | libc::ADDR_NO_RANDOMIZE) as u64) };
    // SAFETY: as above.
    let fixed = set >= 0 && unsafe { libc::personality(KEPT) } & libc::ADDR_NO_RANDOMIZE != 0;
    match fixed {
        true => Err(Command::new(std::env::current_exe()?)
            .args(std::env::args_os().skip(1))
            .exec()),
        // A sandbox may forbid it. Then the digests of two processes may differ, which who compares them will see.
        false => Ok(()),
    }
}
