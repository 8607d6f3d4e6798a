//! Who asks for something to be written to a file system: each such call of a program and of all that it starts is
//! told before the kernel decides about it, so that a refused one is seen as well.

use super::filter::{Filter, Rule, Verdict};
use super::{ProcessError, Program, system};
use parking_lot::Mutex;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

/// Openings that only read are let through unseen, so that watching costs next to nothing.
const WRITING: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;

/// The calls that write: name, number, which argument is a path, which says how it is opened.
const CALLS: &[(&str, libc::c_long, usize, Option<u32>)] = &[
    ("openat", libc::SYS_openat, 1, Some(2)),
    ("openat2", libc::SYS_openat2, 1, None),
    ("mkdirat", libc::SYS_mkdirat, 1, None),
    ("mknodat", libc::SYS_mknodat, 1, None),
    ("renameat2", libc::SYS_renameat2, 1, None),
    ("unlinkat", libc::SYS_unlinkat, 1, None),
    ("linkat", libc::SYS_linkat, 1, None),
    ("symlinkat", libc::SYS_symlinkat, 0, None),
    ("truncate", libc::SYS_truncate, 0, None),
    ("ftruncate", libc::SYS_ftruncate, 0, None),
    ("fallocate", libc::SYS_fallocate, 0, None),
    #[cfg(target_arch = "x86_64")]
    ("open", libc::SYS_open, 0, Some(1)),
    #[cfg(target_arch = "x86_64")]
    ("creat", libc::SYS_creat, 0, None),
    #[cfg(target_arch = "x86_64")]
    ("mkdir", libc::SYS_mkdir, 0, None),
    #[cfg(target_arch = "x86_64")]
    ("mknod", libc::SYS_mknod, 0, None),
    #[cfg(target_arch = "x86_64")]
    ("rename", libc::SYS_rename, 0, None),
    #[cfg(target_arch = "x86_64")]
    ("renameat", libc::SYS_renameat, 1, None),
    #[cfg(target_arch = "x86_64")]
    ("unlink", libc::SYS_unlink, 0, None),
    #[cfg(target_arch = "x86_64")]
    ("rmdir", libc::SYS_rmdir, 0, None),
    #[cfg(target_arch = "x86_64")]
    ("link", libc::SYS_link, 0, None),
    #[cfg(target_arch = "x86_64")]
    ("symlink", libc::SYS_symlink, 0, None),
];

/// A call that would write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Its name.
    pub call: &'static str,
    /// The path it was given, where the memory of who called can be read.
    pub path: Option<String>,
}

/// What a program was seen to ask for.
#[derive(Clone, Debug, Default)]
pub struct Spy(Arc<Mutex<Vec<Attempt>>>);

impl Spy {
    /// Watches this program from its first instruction on.
    pub fn on(program: Program) -> Result<(Program, Self), ProcessError> {
        let failed = |source| system("watching", source);
        let rules = CALLS.iter().map(|(_, call, _, how)| Rule {
            call: *call,
            flags: how.map(|how| (how, WRITING)),
            verdict: Verdict::Ask,
        });
        let filter = Filter::new(&rules.collect::<Vec<_>>());
        let (ours, theirs) = UnixDatagram::pair().map_err(failed)?;
        let spy = Self::default();
        let seen = spy.clone();
        let program = program.before_exec(move || {
            let listener = filter.apply_and_listen()?;
            hand(theirs.as_raw_fd(), listener.as_raw_fd())
        });
        std::thread::spawn(move || {
            // A program that could not be started is told of where it is started.
            if let Ok(listener) = take(ours.as_raw_fd()) {
                seen.listen(&listener);
            }
        });
        Ok((program, spy))
    }

    /// Everything so far, in order.
    #[must_use]
    pub fn seen(&self) -> Vec<Attempt> {
        self.0.lock().clone()
    }

    /// Until nobody is left who could ask.
    fn listen(&self, listener: &OwnedFd) {
        loop {
            let mut wait = libc::pollfd {
                fd: listener.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one entry, which outlives the call.
            let ready = unsafe { libc::poll(&raw mut wait, 1, -1) };
            if ready < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if wait.revents & libc::POLLIN == 0 {
                return;
            }
            self.answer(listener);
        }
    }

    fn answer(&self, listener: &OwnedFd) {
        // SAFETY: all of it may be zero, and the kernel wants it so.
        let mut asked: libc::seccomp_notif = unsafe { MaybeUninit::zeroed().assume_init() };
        let (fd, receive) = (listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV);
        // SAFETY: the kernel writes one notification, for which there is room.
        if unsafe { libc::ioctl(fd, receive, &raw mut asked) } != 0 {
            // Who asked was killed before it could be heard.
            return;
        }
        let call = CALLS
            .iter()
            .find(|(_, call, _, _)| *call == i64::from(asked.data.nr));
        if let Some((call, _, path, _)) = call {
            let path = text_at(asked.pid, asked.data.args[*path]);
            self.0.lock().push(Attempt { call, path });
        }
        let response = libc::seccomp_notif_resp {
            id: asked.id,
            val: 0,
            error: 0,
            flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        };
        let send = libc::SECCOMP_IOCTL_NOTIF_SEND;
        // SAFETY: the kernel reads one response. Who asked may be gone, and then nobody waits for it.
        unsafe { libc::ioctl(fd, send, &raw const response) };
    }
}

/// Text in the memory of another.
fn text_at(pid: u32, address: u64) -> Option<String> {
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut bytes = [0; 512];
    // The text may end just before a page that cannot be read.
    let page = 4096 - (address % 4096) as usize;
    let room = &mut bytes[..page.min(512)];
    let count = memory.read_at(room, address).ok()?;
    let text = bytes[..count].split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Room for one descriptor beside a message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Beside([u8; 64]);

/// Gives a descriptor away. System calls only: safe between fork and exec.
fn hand(socket: RawFd, fd: RawFd) -> io::Result<()> {
    let (mut byte, mut beside) = ([1_u8], Beside([0; 64]));
    with_message(&mut byte, &mut beside, |message| {
        // SAFETY: the room beside is larger than one descriptor needs, and aligned.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as usize;
            let head = libc::CMSG_FIRSTHDR(message);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
            libc::CMSG_DATA(head).cast::<RawFd>().write_unaligned(fd);
            libc::sendmsg(socket, message, 0)
        }
    })
    .map(|_| ())
}

/// Waits for a descriptor.
fn take(socket: RawFd) -> io::Result<OwnedFd> {
    let (mut byte, mut beside) = ([0_u8], Beside([0; 64]));
    let mut fd = None;
    with_message(&mut byte, &mut beside, |message| {
        // SAFETY: the kernel writes within the rooms; a header that it wrote is followed by what it says.
        unsafe {
            let length = libc::recvmsg(socket, message, libc::MSG_CMSG_CLOEXEC);
            let head = libc::CMSG_FIRSTHDR(message);
            if length > 0 && !head.is_null() && (*head).cmsg_type == libc::SCM_RIGHTS {
                let number = libc::CMSG_DATA(head).cast::<RawFd>().read_unaligned();
                fd = Some(OwnedFd::from_raw_fd(number));
            }
            length
        }
    })?;
    fd.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn with_message(
    byte: &mut [u8; 1],
    beside: &mut Beside,
    call: impl FnOnce(&mut libc::msghdr) -> isize,
) -> io::Result<isize> {
    let mut piece = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 1,
    };
    // SAFETY: all of it may be zero.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = beside.0.as_mut_ptr().cast();
    message.msg_controllen = beside.0.len();
    match call(&mut message) {
        ..0 => Err(io::Error::last_os_error()),
        length => Ok(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(10);

    async fn seen(script: &str) -> Vec<Attempt> {
        let program = Program::new("/bin/sh").unwrap().arg("-c").arg(script);
        let (program, spy) = Spy::on(program).unwrap();
        let process = program.start().unwrap();
        assert!(process.wait_exit(LONG).await.unwrap().success());
        spy.seen()
    }

    #[tokio::test]
    async fn who_only_reads_is_not_seen() {
        assert_eq!(seen("cat /etc/passwd; ls / | cat").await, []);
    }

    #[tokio::test]
    async fn whoever_writes_is_seen_with_what() {
        let script = "echo x > new; mkdir made; (echo y >> new); mv new moved; rm moved";
        let seen = seen(script).await;
        let of = |path: &str| {
            let named = |seen: &&Attempt| seen.path.as_deref() == Some(path);
            seen.iter().filter(named).count()
        };
        assert_eq!((of("new"), of("made"), of("moved")), (3, 1, 1), "{seen:?}");
    }

    #[tokio::test]
    async fn what_the_kernel_refuses_is_seen_too() {
        let seen = seen("(echo x > /proc/version) 2>&1 | cat").await;
        assert_eq!(seen.len(), 1, "{seen:?}");
    }
}
