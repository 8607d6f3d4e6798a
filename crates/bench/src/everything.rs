//! All benchmarks one after the other, each in a process of its own: none inherits the pinning, the heap or the
//! priority of the one before.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::catalogue::{self, Entry};

/// Runs all; what fails is named at the end and keeps no other from running.
pub fn everything() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let entries: Vec<Entry> = catalogue::all()
        .into_iter()
        .filter(|entry| !entry.is_part)
        .collect();
    let began = Instant::now();
    let mut failed = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let place = format!("{} of {}", index + 1, entries.len());
        eprintln!(
            "\n[{place}, {}] {}: {}",
            clock(began.elapsed()),
            entry.name,
            entry.about
        );
        let status = Command::new(&program).arg(entry.name).args(&words).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("[{place}] {} FAILED", entry.name);
            failed.push(entry.name);
        }
    }
    eprintln!("\nall done after {}", clock(began.elapsed()));
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}", failed.join(", "))),
    }
}

/// Minutes and seconds.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_in_minutes_and_seconds() {
        assert_eq!(clock(Duration::from_secs(0)), "0:00");
        assert_eq!(clock(Duration::from_millis(65_999)), "1:05");
    }
}
