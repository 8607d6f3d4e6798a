//! The node's own words: its log lines, and the ledger of tasks it closes with.

use std::collections::BTreeMap;

use serde_json::Value;
use testkit::process::{Pipe, Process};

/// The lines of the log still kept, in the order they were written.
///
/// # Panics
/// If a line on stderr is not JSON.
#[must_use]
pub fn events(process: &Process) -> Vec<Value> {
    let lines = process.lines();
    let logged = lines.iter().filter(|line| line.pipe == Pipe::Stderr);
    logged
        .map(|line| {
            serde_json::from_str(&line.text)
                .unwrap_or_else(|error| panic!("not a log line ({error}): {}", line.text))
        })
        .collect()
}

/// The text of an event.
#[must_use]
pub fn message(event: &Value) -> &str {
    event["message"].as_str().unwrap_or_default()
}
