//! Landlock with one rule: no rule. What it is told to watch over, which is every way to write, nobody may do anywhere.
//!
//! Reading, executing and the network are not watched over, and stay as they are. What is forbidden stays forbidden
//! for this process and all it starts, whatever any of them does.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The interface from which on every way to write can be forbidden: truncation came last, with Linux 6.2.
pub(crate) const WHOLE: i64 = 3;

/// The ways to write, and the interface that brought each.
const WAYS: [(u64, i64); 12] = [
    (1 << 1, 1),  // write to a file
    (1 << 4, 1),  // remove a directory
    (1 << 5, 1),  // remove a file
    (1 << 6, 1),  // make a character device
    (1 << 7, 1),  // make a directory
    (1 << 8, 1),  // make a file
    (1 << 9, 1),  // make a socket
    (1 << 10, 1), // make a pipe
    (1 << 11, 1), // make a block device
    (1 << 12, 1), // make a symbolic link
    (1 << 13, 2), // link or rename to another directory; the first interface forbids it always
    (1 << 14, 3), // truncate
];

/// `struct landlock_ruleset_attr` as the first interface had it: what later ones added is zero, which is nothing.
#[repr(C)]
struct Attributes {
    handled_access_fs: u64,
}

/// The kernel's interface, or why there is none.
pub(crate) fn interface() -> io::Result<i64> {
    const VERSION: u32 = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: landlock_create_ruleset(2) asked for its version takes no memory and makes no descriptor.
    checked(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) })
}

/// What an absence is due to, in words.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => "not built into this kernel".to_owned(),
        Some(libc::EOPNOTSUPP) => {
            "switched off; `lsm=landlock,…` at boot switches it on".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Forbids this thread, and all that it starts, every way to write that the interface knows.
pub(super) fn forbid_writing(interface: i64) -> io::Result<()> {
    let rules = rules(ways(interface))?;
    // SAFETY: prctl(2) with these arguments takes no memory.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1_u64, 0_u64, 0_u64, 0_u64) }.into())?;
    // SAFETY: landlock_restrict_self(2) takes a descriptor, which is open.
    let bound =
        checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) });
    match bound {
        // A successor of a successor: the kernel takes no more than sixteen such promises, and has the first of them.
        Err(error) if error.raw_os_error() == Some(libc::E2BIG) && is_forbidden() => Ok(()),
        bound => bound.map(|_| ()),
    }
}

/// Whether a write that anybody may do is refused.
pub(super) fn is_forbidden() -> bool {
    const ANYBODYS: &CStr = c"/dev/null";
    // SAFETY: open(2) reads the name, which ends with a zero byte.
    let opened = unsafe { libc::open(ANYBODYS.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    let refused = opened < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EACCES);
    if opened >= 0 {
        // SAFETY: the call above made the descriptor, and nobody else has it.
        drop(unsafe { OwnedFd::from_raw_fd(opened) });
    }
    refused
}

fn ways(interface: i64) -> u64 {
    let known = WAYS.iter().filter(|(_, since)| *since <= interface);
    known.fold(0, |all, (way, _)| all | way)
}

fn rules(handled_access_fs: u64) -> io::Result<OwnedFd> {
    let attributes = Attributes { handled_access_fs };
    let size = size_of::<Attributes>();
    // SAFETY: landlock_create_ruleset(2) reads so many bytes of the attributes, which outlive the call.
    let made = checked(unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const attributes,
            size,
            0,
        )
    })?;
    let number = i32::try_from(made).map_err(io::Error::other)?;
    // SAFETY: the call above made the descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn checked(result: i64) -> io::Result<i64> {
    match result {
        ..0 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: ND-05
    #[test]
    fn an_interface_is_asked_for_what_it_knows_and_no_more() {
        const EXECUTE_AND_READ: u64 = 1 | 1 << 2 | 1 << 3;
        assert_eq!(ways(0), 0);
        assert_eq!(ways(1), 0b1_1111_1111_0010);
        assert_eq!(ways(2), ways(1) | 1 << 13);
        assert_eq!(ways(WHOLE), ways(2) | 1 << 14);
        assert_eq!(ways(99), ways(WHOLE));
        assert_eq!(ways(99) & EXECUTE_AND_READ, 0);
    }

    #[test]
    fn an_absence_says_why() {
        let reason = |errno| reason(&io::Error::from_raw_os_error(errno));
        assert!(reason(libc::ENOSYS).contains("not built"));
        assert!(reason(libc::EOPNOTSUPP).contains("boot"));
        assert!(reason(libc::EPERM).contains("not permitted"));
    }

    #[test]
    fn a_process_that_promised_nothing_may_write() {
        assert!(!is_forbidden());
    }

    // req: ND-05
    #[test]
    fn a_thread_that_promised_can_write_nothing_and_read_everything() {
        let Ok(interface) = interface() else {
            // Such a kernel enforces nothing; that the node then does not start is shown elsewhere.
            return;
        };
        let directory = tempfile::tempdir().expect("a temporary directory");
        let there = directory.path().join("there");
        std::fs::write(&there, "kept").expect("nothing is promised yet");
        // Promises are a thread's own.
        std::thread::scope(|scope| {
            let bound = scope.spawn(|| {
                // Twenty, as a chain of successors would: the kernel takes sixteen.
                for _ in 0..20 {
                    forbid_writing(interface).expect("a promise");
                }
                assert!(is_forbidden());
                let denied = |done: io::Result<()>| {
                    assert_eq!(done.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
                };
                denied(std::fs::write(directory.path().join("new"), "x"));
                denied(std::fs::write(&there, "x"));
                denied(std::fs::create_dir(directory.path().join("made")));
                denied(std::fs::rename(&there, directory.path().join("moved")));
                denied(std::fs::remove_file(&there));
                assert_eq!(std::fs::read_to_string(&there).unwrap(), "kept");
            });
            bound.join().expect("a thread whose promises are kept");
        });
    }
}
