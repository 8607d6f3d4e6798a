//! The node's own words: its log lines, and the ledger of tasks it closes with.

use std::collections::BTreeMap;
use std::time::Duration;

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

/// What became of the tasks of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// Spawned.
    pub spawned: u64,
    /// Ended by themselves.
    pub completed: u64,
    /// Ended with their owner.
    pub canceled: u64,
    /// Ended by force.
    pub aborted: u64,
}

/// The books a node that has ended closed its log with, by kind of task; they balance.
///
/// # Panics
/// If they are missing, or a task of some kind is not accounted for.
pub async fn books(process: &Process) -> BTreeMap<String, Tasks> {
    let last = |text: &str| text.contains("macronode has stopped");
    let said = process.wait_for_line(|line| last(&line.text), Duration::from_secs(5));
    said.await.expect("the node's last word");
    let events = events(process);
    let entries = events.iter().filter(|event| message(event) == "tasks");
    let books: BTreeMap<String, Tasks> = entries.map(entry).collect();
    assert!(books.contains_key("child"), "nobody in {books:?}");
    for (kind, tasks) in &books {
        let ended = tasks.completed + tasks.canceled + tasks.aborted;
        assert_eq!(tasks.spawned, ended, "{kind} does not add up: {tasks:?}");
    }
    books
}

fn entry(event: &Value) -> (String, Tasks) {
    let count = |field: &str| {
        event[field]
            .as_u64()
            .unwrap_or_else(|| panic!("no {field} in {event}"))
    };
    let tasks = Tasks {
        spawned: count("spawned"),
        completed: count("completed"),
        canceled: count("canceled"),
        aborted: count("aborted"),
    };
    (event["kind"].as_str().unwrap_or_default().to_owned(), tasks)
}
