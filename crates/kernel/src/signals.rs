//! Turns process signals into requests: TERM and INT drain (twice: abort), HUP reloads the config,
//! USR2 hands over to a successor.

use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// SIGTERM or SIGINT.
    Shutdown,
    /// SIGHUP.
    Reload,
    /// SIGUSR2.
    HandOver,
}

/// The signals the node listens to, kept back while nobody is there to hear them.
///
/// Between the moment a handler is set and the one it knows what to do, it would take a signal and lose it; and who
/// waits for signals does not hear those that came before. What is kept back comes when all of it stands; who never
/// comes to listen ends for a reason of its own, and none of them takes its place.
pub struct Held {
    /// They are kept back from the thread that asked for it, and from those it starts.
    of_this_thread: PhantomData<*const ()>,
}

impl Held {
    /// To be called before any other thread is started: one that does not keep them back takes them.
    pub fn hold() -> io::Result<Self> {
        mask(libc::SIG_BLOCK, &KINDS)?;
        Ok(Self {
            of_this_thread: PhantomData,
        })
    }
}

/// Keeps back what is no reason to end, for a start that may take its time before it [holds](Held::hold) all: whoever
/// wants to end it must be able to.
pub fn hold_requests() -> io::Result<()> {
    mask(libc::SIG_BLOCK, &KINDS[2..])
}

fn mask(how: libc::c_int, kinds: &[SignalKind]) -> io::Result<()> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call makes it a set, the others are given one; each signal is one.
    let error = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for kind in kinds {
            libc::sigaddset(set.as_mut_ptr(), kind.as_raw_value());
        }
        libc::pthread_sigmask(how, set.as_ptr(), std::ptr::null_mut())
    };
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// What ends it, then what asks for something.
const KINDS: [SignalKind; 4] = [
    SignalKind::terminate(),
    SignalKind::interrupt(),
    SignalKind::hangup(),
    SignalKind::user_defined2(),
];

/// The signals the node listens to.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    hand_over: Signal,
}

impl Signals {
    /// Starts listening: from here on these signals no longer kill the process, and those that were held are heard.
    pub fn listen(held: Held) -> io::Result<Self> {
        let [terminate, interrupt, hangup, hand_over] = KINDS.map(signal);
        let heard = Self {
            terminate: terminate?,
            interrupt: interrupt?,
            hangup: hangup?,
            hand_over: hand_over?,
        };
        let Held { of_this_thread: _ } = held;
        mask(libc::SIG_UNBLOCK, &KINDS)?;
        Ok(heard)
    }

    /// Waits for the next one. Cancel-safe.
    pub async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Shutdown,
            _ = self.interrupt.recv() => Asked::Shutdown,
            _ = self.hangup.recv() => Asked::Reload,
            _ = self.hand_over.recv() => Asked::HandOver,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn raise(kind: SignalKind) {
        // SAFETY: sends this thread a signal.
        unsafe { libc::raise(kind.as_raw_value()) };
    }

    // req: KN-05, KN-08
    #[tokio::test]
    async fn a_signal_from_before_anybody_listened_is_heard_once() {
        let held = Held::hold().unwrap();
        for kind in KINDS {
            // It would end this process, were it not held.
            raise(kind);
        }
        let mut signals = Signals::listen(held).unwrap();
        let mut heard = Vec::new();
        while let Ok(asked) = tokio::time::timeout(Duration::from_millis(500), signals.next()).await
        {
            heard.push(asked);
        }
        let count = |wanted| heard.iter().filter(|asked| **asked == wanted).count();
        assert_eq!(count(Asked::Shutdown), 2, "{heard:?}");
        assert_eq!(count(Asked::Reload), 1, "{heard:?}");
        assert_eq!(count(Asked::HandOver), 1, "{heard:?}");
    }
}
