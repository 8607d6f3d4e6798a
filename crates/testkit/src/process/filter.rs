//! A program that is watched, or lied to, at its system calls: a filter that the kernel asks before each of them.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// What the kernel does about a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    /// Asks who listens.
    Ask,
    /// Fails it with this number.
    Fail(u16),
}

/// A call that is not simply let through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) call: libc::c_long,
    /// Only where this argument has one of these bits.
    pub(super) flags: Option<(u32, u32)>,
    pub(super) verdict: Verdict,
}

/// The rules as the kernel reads them.
pub(super) struct Filter(Vec<libc::sock_filter>);

const NUMBER: u32 = 0;
const ARGUMENTS: u32 = 16;

impl Filter {
    pub(super) fn new(rules: &[Rule]) -> Self {
        let mut code = vec![load(NUMBER)];
        for rule in rules {
            let verdict = answer(match rule.verdict {
                Verdict::Ask => libc::SECCOMP_RET_USER_NOTIF,
                Verdict::Fail(errno) => libc::SECCOMP_RET_ERRNO | u32::from(errno),
            });
            let number = u32::try_from(rule.call).expect("calls have small numbers");
            match rule.flags {
                None => code.extend([jump(libc::BPF_JEQ, number, 0, 1), verdict]),
                Some((argument, bits)) => code.extend([
                    jump(libc::BPF_JEQ, number, 0, 4),
                    load(ARGUMENTS + 8 * argument),
                    jump(libc::BPF_JSET, bits, 0, 1),
                    verdict,
                    answer(libc::SECCOMP_RET_ALLOW),
                ]),
            }
        }
        code.push(answer(libc::SECCOMP_RET_ALLOW));
        Self(code)
    }

    /// Puts it over the calling thread and all that it starts. System calls only: safe between fork and exec.
    pub(super) fn apply(&self) -> io::Result<()> {
        self.install(0).map(|_| ())
    }

    /// As [`Filter::apply`]; what comes back is where the kernel asks.
    pub(super) fn apply_and_listen(&self) -> io::Result<OwnedFd> {
        let listener = self.install(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
        // SAFETY: the call made the descriptor, and nobody else has it.
        Ok(unsafe { OwnedFd::from_raw_fd(listener) })
    }

    fn install(&self, flags: libc::c_ulong) -> io::Result<RawFd> {
        let program = libc::sock_fprog {
            len: u16::try_from(self.0.len()).expect("few rules"),
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: prctl(2) with these arguments takes no memory.
        let bound = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1_u64, 0_u64, 0_u64, 0_u64) };
        if bound != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: seccomp(2) reads the program, which outlives the call.
        let done = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        match done {
            ..0 => Err(io::Error::last_os_error()),
            done => Ok(RawFd::try_from(done).unwrap_or_default()),
        }
    }
}

fn load(offset: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16,
        jt: 0,
        jf: 0,
        k: offset,
    }
}

fn jump(test: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: (libc::BPF_JMP | test | libc::BPF_K) as u16,
        jt,
        jf,
        k,
    }
}

fn answer(k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k,
    }
}
