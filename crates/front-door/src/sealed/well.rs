//! A well: a few pages that wait in a pipe, to be drawn again and again and poured into a socket without a copy.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a pipe of usual size holds, where pages are of usual size.
const MOST_BYTES: usize = 64 * 1024;

/// Wells at one time. A user whose pipes hold more than 16,384 pages gets only small ones, in other programs too: this
/// is half of them.
static WELLS: Allowance = Allowance::of(512);

/// How many there may be, whoever makes them: what the system allows, it allows the process.
#[derive(Debug)]
pub(super) struct Allowance {
    most: usize,
    taken: AtomicUsize,
}

impl Allowance {
    pub(super) const fn of(most: usize) -> Self {
        let taken = AtomicUsize::new(0);
        Self { most, taken }
    }

    pub(super) fn ask(&'static self) -> io::Result<Allowed> {
        let more = |taken: usize| (taken < self.most).then_some(taken + 1);
        let asked = self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        asked
            .map(|_| Allowed(self))
            .map_err(|_| io::ErrorKind::QuotaExceeded.into())
    }
}

/// The right to be one of them.
#[derive(Debug)]
pub(super) struct Allowed(&'static Allowance);

impl Drop for Allowed {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

thread_local! {
    /// An empty pipe, so that not each answer needs one of its own.
    static SPARE: Cell<Option<Pipe>> = const { Cell::new(None) };
}

#[derive(Debug)]
struct Pipe {
    reads: OwnedFd,
    writes: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: there is room for two descriptors.
        told(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } as isize)?;
        // SAFETY: the descriptors are new, and nobody else's.
        let [reads, writes] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Ok(Self { reads, writes })
    }
}

/// Pages in a pipe that nobody writes to any more.
#[derive(Debug)]
pub(crate) struct Well {
    pages: OwnedFd,
    length: usize,
    _allowed: Allowed,
}

impl Well {
    /// The pages of a file, all of them or none. Refused as well where they could not be drawn again.
    pub(super) fn of(file: &File, length: usize) -> io::Result<Self> {
        if length > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let (allowed, pipe) = (WELLS.ask()?, Pipe::new()?);
        let mut at = 0;
        let (from, to) = (file.as_raw_fd(), pipe.writes.as_raw_fd());
        // SAFETY: both are open for the length of the call, and so is the number it notes its place in.
        let filled = unsafe {
            libc::splice(
                from,
                &raw mut at,
                to,
                null_mut(),
                length,
                libc::SPLICE_F_NONBLOCK,
            )
        };
        let well = Self {
            pages: pipe.reads,
            length,
            _allowed: allowed,
        };
        let whole = told(filled)? == length && well.draw().is_some();
        whole
            .then_some(well)
            .ok_or(io::ErrorKind::FileTooLarge.into())
    }

    /// All of it once more; nothing where there is no pipe for that.
    pub(crate) fn draw(&self) -> Option<Draught> {
        let pipe = SPARE.take().or_else(|| Pipe::new().ok())?;
        let (from, to) = (self.pages.as_raw_fd(), pipe.writes.as_raw_fd());
        // SAFETY: takes numbers only; both are open for the length of the call.
        let drawn = unsafe { libc::tee(from, to, self.length, libc::SPLICE_F_NONBLOCK) };
        let whole = told(drawn).is_ok_and(|drawn| drawn == self.length);
        whole.then_some(Draught {
            pipe,
            length: self.length,
        })
    }
}

/// What was drawn, to be poured out once.
pub(crate) struct Draught {
    pipe: Pipe,
    length: usize,
}

impl Draught {
    /// Pours into a socket, the beginning if it does not take all of it. What is left then is gone with this.
    pub(crate) fn pour(&self, socket: RawFd) -> isize {
        let from = self.pipe.reads.as_raw_fd();
        // SAFETY: takes numbers only; both are open for the length of the call.
        unsafe {
            libc::splice(
                from,
                null_mut(),
                socket,
                null_mut(),
                self.length,
                libc::SPLICE_F_NONBLOCK,
            )
        }
    }

    /// So much was poured out. An empty pipe serves again.
    pub(crate) fn poured(self, length: usize) {
        if length == self.length {
            SPARE.set(Some(self.pipe));
        }
    }
}

fn told(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
