//! The elapsed-seconds line a terminal shows while a step is silent.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SILENCE_SECS: u64 = 3;

/// Erases the line under the cursor: ours, or the bar cargo left there.
const ERASE: &str = "\r\x1b[K";

/// Owns its thread; dropping it stops and joins the thread and erases the line.
pub(crate) struct Meter {
    shared: Arc<Shared>,
    ticker: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    stopped: Condvar,
}

struct State {
    last_line: Instant,
    shown: bool,
    running: bool,
}

impl Meter {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        let state = State {
            last_line: now,
            shown: false,
            running: true,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            stopped: Condvar::new(),
        });
        // A log file has no cursor to move back: only a terminal gets the line.
        let ticker = std::io::stdout().is_terminal().then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.tick(now))
        });
        Self { shared, ticker }
    }

    pub(crate) fn print(&self, line: &str) {
        let mut state = self.shared.lock();
        state.erase();
        state.last_line = Instant::now();
        println!("{line}");
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.erase();
        state.running = false;
        drop(state);
        self.shared.stopped.notify_all();
        if let Some(ticker) = self.ticker.take() {
            // A panic of the ticker costs the line, not the step.
            let _ = ticker.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("nothing panics while holding the meter")
    }

    fn tick(&self, started: Instant) {
        let mut state = self.lock();
        while state.running {
            if state.last_line.elapsed().as_secs() >= SILENCE_SECS {
                print!("{ERASE}   ... {} s", started.elapsed().as_secs());
                let _ = std::io::stdout().flush();
                state.shown = true;
            }
            let second = Duration::from_secs(1);
            state = self
                .stopped
                .wait_timeout(state, second)
                .expect("nothing panics while holding the meter")
                .0;
        }
    }
}

impl State {
    fn erase(&mut self) {
        if std::mem::take(&mut self.shown) {
            print!("{ERASE}");
            let _ = std::io::stdout().flush();
        }
    }
}
