//! A report as a table for a terminal.

use std::fmt::{self, Display};
use std::time::Duration;

use super::{KeyReport, Report, Whose};
use crate::breaker::BreakerState;
use crate::rejection::Reason;

/// A longer key is cut: the table is for the eye.
const KEY_COLUMNS: usize = 24;

impl<K: Display> Display for Report<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.statistics;
        writeln!(
            f,
            "acquired {}  queued {}  timed out {}  evicted {}  breaker openings {}  keys {}",
            counts.acquired,
            counts.queued,
            counts.timed_out,
            counts.evicted,
            counts.breaker_openings,
            counts.keys
        )?;
        write!(f, "rejected {}:", counts.rejected.total())?;
        for reason in Reason::ALL {
            write!(f, "  {} {}", reason.as_str(), counts.rejected.by(reason))?;
        }
        writeln!(
            f,
            "\n{:<KEY_COLUMNS$} {:>8} {:>7} {:>7} {:>15} {:>9} {:>9} {:>9} {:>9}",
            "key",
            "pressure",
            "in use",
            "of",
            "queued",
            "wait p99",
            "hold p99",
            "last used",
            "breaker"
        )?;
        self.keys.iter().try_for_each(|key| key.write_row(f))
    }
}

impl<K: Display> KeyReport<K> {
    fn write_row(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.whose {
            Whose::Key(key) => key.to_string(),
            Whose::Shared(number) => format!("(shared {number})"),
        };
        // A key must not be able to draw on the terminal.
        let printable = |c: char| if c.is_control() { '?' } else { c };
        let name: String = name.chars().take(KEY_COLUMNS).map(printable).collect();
        writeln!(
            f,
            "{name:<KEY_COLUMNS$} {:>8.2} {:>7} {:>7} {:>15} {:>9} {:>9} {:>9} {:>9}",
            self.pressure(),
            self.in_use,
            self.capacity,
            format!("{}/{}", self.queued, self.queue_max),
            short(self.wait.p99, self.wait.samples),
            short(self.hold.p99, self.hold.samples),
            format!("{} s", self.last_used.as_secs()),
            self.breaker.map_or("-", BreakerState::as_str),
        )
    }
}

fn short(duration: Duration, samples: u64) -> String {
    match duration.as_micros() {
        _ if samples == 0 => "-".to_owned(),
        us @ 0..1_000 => format!("{us} us"),
        us @ 1_000..10_000_000 => format!("{} ms", us / 1_000),
        us => format!("{} s", us / 1_000_000),
    }
}
