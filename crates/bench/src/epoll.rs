//! The system's readiness queue, with waits finer than a millisecond.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

const EVENTS_AT_ONCE: usize = 512;
/// How far the system may put a wake-up off; its own choice of 50 µs would be charged to the server.
const TIMER_SLACK_NS: libc::c_ulong = 1_000;

/// Tells which sockets can go on. Everything is registered once, for both directions and by edges:
/// a socket that is read and written until it blocks needs no further call.
#[derive(Debug)]
pub struct Epoll {
    queue: OwnedFd,
    events: Vec<libc::epoll_event>,
}

/// What became possible on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// As it was registered.
    pub token: u64,
    /// There is something to read, an end or an error included.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
    /// The other side will send no more.
    pub ended: bool,
}

impl Epoll {
    /// An empty queue.
    pub fn new() -> io::Result<Self> {
        // SAFETY: plain system call without pointers.
        let queue = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if queue < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: plain system call that takes numbers only; it cannot fail on the calling thread.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS) };
        Ok(Self {
            // SAFETY: the descriptor is fresh and nobody else's.
            queue: unsafe { OwnedFd::from_raw_fd(queue) },
            events: Vec::with_capacity(EVENTS_AT_ONCE),
        })
    }

    /// Watches a socket until it is closed.
    pub fn add(&self, socket: &impl AsRawFd, token: u64) -> io::Result<()> {
        let wanted = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event {
            events: wanted.cast_unsigned(),
            u64: token,
        };
        let (queue, socket) = (self.queue.as_raw_fd(), socket.as_raw_fd());
        // SAFETY: both descriptors are open and the event is valid for the length of the call.
        let status = unsafe { libc::epoll_ctl(queue, libc::EPOLL_CTL_ADD, socket, &mut event) };
        if status == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Waits at most so long; a signal ends the wait early and without events.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<impl Iterator<Item = Ready>> {
        let timeout = timeout.map(|timeout| libc::timespec {
            tv_sec: timeout.as_secs().cast_signed(),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        });
        let limit: *const libc::timespec = timeout.as_ref().map_or(std::ptr::null(), |limit| limit);
        let (queue, room) = (self.queue.as_raw_fd(), self.events.as_mut_ptr());
        // SAFETY: `room` has EVENTS_AT_ONCE places, `limit` is null or points to a live timespec.
        let count = unsafe {
            libc::epoll_pwait2(queue, room, EVENTS_AT_ONCE as i32, limit, std::ptr::null())
        };
        let count = match usize::try_from(count) {
            Ok(count) => count,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => 0,
                error => return Err(error),
            },
        };
        // SAFETY: the call filled that many, and no more than there is room for.
        unsafe { self.events.set_len(count) };
        Ok(self.events.iter().map(|event| ready(*event)))
    }
}

fn ready(event: libc::epoll_event) -> Ready {
    let has = |flags: i32| event.events & flags.cast_unsigned() != 0;
    let ended = has(libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR);
    Ready {
        token: event.u64,
        readable: ended || has(libc::EPOLLIN),
        writable: has(libc::EPOLLOUT),
        ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    #[test]
    fn an_edge_is_told_once_and_with_its_token() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut epoll = Epoll::new().unwrap();
        epoll.add(&near, 7).unwrap();
        far.write_all(b"x").unwrap();
        let wait = Some(Duration::from_millis(50));
        let seen: Vec<Ready> = epoll.wait(wait).unwrap().collect();
        assert_eq!(seen.len(), 1);
        assert!(seen[0].token == 7 && seen[0].readable && seen[0].writable && !seen[0].ended);
        assert_eq!(epoll.wait(wait).unwrap().count(), 0);
        drop(far);
        assert!(epoll.wait(wait).unwrap().any(|ready| ready.ended));
    }

    #[test]
    fn a_wait_shorter_than_a_millisecond_is_kept() {
        let mut epoll = Epoll::new().unwrap();
        let waits = (0..50).map(|_| {
            let start = Instant::now();
            epoll
                .wait(Some(Duration::from_micros(100)))
                .unwrap()
                .count();
            start.elapsed()
        });
        let shortest = waits.min().unwrap();
        assert!(shortest >= Duration::from_micros(100));
        assert!(shortest < Duration::from_micros(900), "{shortest:?}");
    }
}
