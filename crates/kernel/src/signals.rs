//! Turns process signals into requests: TERM and INT drain (twice: abort), HUP reloads the config,
//! USR2 hands over to a successor.

use std::io;

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

/// The signals the node listens to.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    hand_over: Signal,
}

impl Signals {
    /// Starts listening: from here on these signals no longer kill the process.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            hand_over: signal(SignalKind::user_defined2())?,
        })
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
