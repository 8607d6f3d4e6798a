//! The watchdog's own thread: it turns whatever the runtime does, and ends a process whose supervisor died and which
//! does not come to its end by itself.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Watchdog;
use crate::clock;
use crate::limits;

const WATCHING: u8 = 0;
const BEREFT: u8 = 1;
const OVER: u8 = 2;

/// The thread; over when this is dropped, unless the supervisor died.
pub struct Watch {
    state: Arc<AtomicU8>,
    thread: Option<JoinHandle<()>>,
}

/// Goes where the supervisor goes. Dropped by a panic, it says so to the thread.
pub struct Alive {
    state: Arc<AtomicU8>,
    thread: thread::Thread,
}

impl Watchdog {
    /// Starts to look. `end` is for a supervisor that died without the process ending soon after: it must not return.
    pub fn watch(&self, end: fn()) -> io::Result<(Watch, Alive)> {
        let state = Arc::new(AtomicU8::new(WATCHING));
        let (watchdog, seen) = (self.clone(), state.clone());
        let thread = thread::Builder::new().name("watchdog".to_owned());
        let thread = thread.spawn(move || watchdog.turn(&seen, end))?;
        let alive = Alive {
            state: state.clone(),
            thread: thread.thread().clone(),
        };
        let watch = Watch {
            state,
            thread: Some(thread),
        };
        Ok((watch, alive))
    }

    fn turn(&self, state: &AtomicU8, end: fn()) {
        while state.load(Ordering::Acquire) == WATCHING {
            thread::park_timeout(limits::GLANCE);
            self.look(self.shared.timeline.now());
        }
        if state.load(Ordering::Acquire) == BEREFT && still_here(limits::LAST_BREATH) {
            end();
        }
    }
}

/// Waits so long: whoever comes to its end by itself takes this thread along.
fn still_here(patience: Duration) -> bool {
    let until = clock::now() + patience;
    loop {
        let left = until.saturating_duration_since(clock::now());
        if left.is_zero() {
            return true;
        }
        thread::park_timeout(left);
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if thread::panicking() {
            self.state.store(BEREFT, Ordering::Release);
            self.thread.unpark();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let watching =
            self.state
                .compare_exchange(WATCHING, OVER, Ordering::AcqRel, Ordering::Acquire);
        // Bereft, it stays to the very end.
        if let (Ok(_), Some(thread)) = (watching, self.thread.take()) {
            thread.thread().unpark();
            let _told_of_its_panic = thread.join().is_err();
        }
    }
}
