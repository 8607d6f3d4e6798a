//! Keys that end `top`, heard as they are pressed.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// `q`, and what is pressed to end anything: it comes as a key here, or the terminal would stay as it is now.
const FAREWELLS: [u8; 4] = [b'q', b'Q', 0x03, 0x04];

/// A terminal that tells of each key at once and shows none, until this is dropped.
pub(super) struct Keys {
    terminal: AsyncFd<OwnedFd>,
    before: libc::termios,
}

impl Keys {
    /// Hears what is typed here, if it is a terminal.
    pub(super) fn hear(terminal: impl AsFd) -> Option<Self> {
        let terminal = terminal.as_fd().try_clone_to_owned().ok()?;
        let before = settings(&terminal).ok()?;
        let mut bare = before;
        bare.c_lflag &= !(libc::ICANON | libc::ECHO | libc::ISIG);
        // Reading never waits.
        bare.c_cc[libc::VMIN] = 0;
        bare.c_cc[libc::VTIME] = 0;
        // SAFETY: the descriptor belongs to what is registered, and is closed with it.
        let terminal = unsafe { AsyncFd::register_with_interest(terminal, Interest::READABLE) };
        let keys = Self {
            terminal: terminal.ok()?,
            before,
        };
        set(keys.terminal.get_ref(), &bare).ok()?;
        Some(keys)
    }

    /// Waits until somebody wants to leave.
    pub(super) async fn farewell(&self) {
        loop {
            let Ok(mut ready) = self.terminal.readable().await else {
                return std::future::pending().await;
            };
            match key(self.terminal.get_ref()) {
                Some(key) if FAREWELLS.contains(&key) => return,
                Some(_) => {}
                None => ready.clear_ready(),
            }
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _terminal_gone = set(self.terminal.get_ref(), &self.before);
    }
}

fn key(terminal: &OwnedFd) -> Option<u8> {
    let mut key = 0_u8;
    // SAFETY: read(2) writes at most one byte, to which the pointer is valid for the whole call.
    let read = unsafe { libc::read(terminal.as_raw_fd(), (&raw mut key).cast(), 1) };
    (read == 1).then_some(key)
}

fn settings(terminal: &OwnedFd) -> io::Result<libc::termios> {
    let mut settings = MaybeUninit::uninit();
    // SAFETY: tcgetattr(3) writes one termios, to which the pointer is valid for the whole call.
    match unsafe { libc::tcgetattr(terminal.as_raw_fd(), settings.as_mut_ptr()) } {
        // SAFETY: it has written it.
        0 => Ok(unsafe { settings.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set(terminal: &OwnedFd, settings: &libc::termios) -> io::Result<()> {
    // SAFETY: tcsetattr(3) reads one termios, to which the reference is valid for the whole call.
    match unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, settings) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::fd::FromRawFd as _;
    use std::time::Duration;

    use super::*;

    /// Both ends of a terminal: who types, and who is typed to.
    fn terminal() -> (File, OwnedFd) {
        let (mut outer, mut inner) = (0, 0);
        let none = std::ptr::null_mut();
        // SAFETY: openpty(3) writes two descriptors, to which the pointers are valid; the rest may be null.
        let opened =
            unsafe { libc::openpty(&mut outer, &mut inner, none, none.cast(), none.cast()) };
        assert_eq!(opened, 0, "{}", io::Error::last_os_error());
        // SAFETY: the descriptors were just made and nobody else has them.
        unsafe { (File::from_raw_fd(outer), OwnedFd::from_raw_fd(inner)) }
    }

    #[tokio::test]
    async fn a_q_ends_it_without_enter_and_the_terminal_is_as_before() {
        let (mut typist, terminal) = terminal();
        let before = settings(&terminal).unwrap().c_lflag;
        let keys = Keys::hear(&terminal).unwrap();
        typist.write_all(b"ab").unwrap();
        let early = tokio::time::timeout(Duration::from_millis(50), keys.farewell());
        assert!(early.await.is_err(), "no other key ends it");
        typist.write_all(b"q").unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(10), keys.farewell());
        ended.await.expect("it was heard");
        assert_ne!(settings(&terminal).unwrap().c_lflag, before);
        drop(keys);
        assert_eq!(settings(&terminal).unwrap().c_lflag, before);
    }

    #[tokio::test]
    async fn what_is_no_terminal_is_not_listened_to() {
        assert!(Keys::hear(File::open("/dev/null").unwrap()).is_none());
    }
}
