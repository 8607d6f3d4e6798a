//! One line on a terminal that says how far a command is; nothing anywhere else.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use kernel::clock;
use tokio::time::Instant;

/// The line goes away when this is dropped.
pub(super) struct Progress {
    what: &'static str,
    is_shown: bool,
    shown_at: Option<Instant>,
}

/// Often enough to look alive.
const EVERY: Duration = Duration::from_millis(100);

impl Progress {
    pub(super) fn new(what: &'static str) -> Progress {
        Progress {
            what,
            is_shown: stderr().is_terminal(),
            shown_at: None,
        }
    }

    /// So much is done, of so much; of 0 when nobody knows.
    pub(super) fn at(&mut self, done: u64, all: u64) {
        if !self.is_shown {
            return;
        }
        let now = clock::now();
        let is_due = self
            .shown_at
            .is_none_or(|shown| now.duration_since(shown) >= EVERY);
        if is_due {
            self.shown_at = Some(now);
            self.write(&line(self.what, done, all));
        }
    }

    fn write(&self, text: &str) {
        let mut stderr = stderr().lock();
        // A terminal that went away takes the line with it.
        let _gone = write!(stderr, "\r{text}\x1b[K").and_then(|()| stderr.flush());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown_at.is_some() {
            self.write("");
        }
    }
}

fn line(what: &str, done: u64, all: u64) -> String {
    const WIDTH: u64 = 30;
    if all == 0 {
        return format!("{what} {done}");
    }
    let done = done.min(all);
    let full = u128::from(done) * u128::from(WIDTH) / u128::from(all);
    let percent = u128::from(done) * 100 / u128::from(all);
    let bar: String = (0..u128::from(WIDTH))
        .map(|at| if at < full { '#' } else { '.' })
        .collect();
    format!("{what} [{bar}] {percent:>3} % of {all}")
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn the_bar_fills_and_never_overflows() {
        assert_eq!(
            line("copying", 0, 10),
            format!("copying [{}]   0 % of 10", ".".repeat(30))
        );
        assert_eq!(
            line("copying", 5, 10),
            format!("copying [{}{}]  50 % of 10", "#".repeat(15), ".".repeat(15))
        );
        assert_eq!(
            line("copying", 11, 10),
            format!("copying [{}] 100 % of 10", "#".repeat(30))
        );
        assert_eq!(line("copying", 7, 0), "copying 7");
    }
}
