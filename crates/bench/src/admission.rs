//! How long the gateway takes to refuse: by its own log, under twice the load that its origin can bear.
//!
//! Who is refused for want of room waits for nothing but the decision. What its client sees has the way there and back
//! in it, and the client's own delays; the line in the log has the time from the head of the request to the refusal.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::catalogue::Ask;
use crate::frame::{Effort, Quantiles};
use crate::load::open::{Outcome, Plan, Stream};
use crate::load::request;
use crate::origin::PLACES;
use crate::peers::{Door, Kind, Launch, macronode};
use crate::report;
use crate::sheet::Row;
use crate::stand::{Stand, reserve};

/// What it is called by.
pub const NAME: &str = "admission";
/// One sentence for the list.
pub const ABOUT: &str =
    "how long the gateway takes to refuse, by its own log, under twice the load there is room for";

/// Twice what the origin can do.
const RATE_PER_S: f64 = 3_200.0;
const MOST_MS: f64 = 1.0;
/// Decided at once; other refusals come after a wait that is meant to be.
const AT_ONCE: [&str; 2] = ["queue-full", "share-full"];

/// Runs it once and reads the log.
pub fn admission(ask: &Ask) -> Result<(), String> {
    let length = match ask.effort {
        Effort::Quick => Duration::from_secs(4),
        Effort::Full => Duration::from_secs(30),
    };
    let log = log_of(length)?;
    let took = decisions(&log);
    if took.is_empty() {
        return Err("nobody was refused at once under twice the load".to_owned());
    }
    report::tell(NAME, ask.json, rows(took), Vec::new())
}

fn log_of(length: Duration) -> Result<String, String> {
    let stand = Stand::new()?;
    let port = reserve()?;
    let place = stand.place(port.addr(), Door::Plain);
    let config = macronode::overload(&place, Some(PLACES), &[]);
    let launch = Launch {
        kind: Kind::Macronode,
        config: &config,
        files: &[],
        under: &["env", "MACRONODE__GATEWAY__ACCESS_LOG__LEVEL=refused"],
    };
    let server = launch.start(port)?;
    let target = server.address();
    let stream = |name: &str, rate_per_s, host| {
        Stream::steady(
            name,
            rate_per_s,
            request("GET", target, "/work", &[("X-Tenant", name)], b""),
            Ipv4Addr::new(127, 5, 0, host),
        )
    };
    let outcome = Outcome::of(&Plan {
        target,
        streams: vec![
            stream("polite", RATE_PER_S / 32.0, 1),
            stream("noisy", RATE_PER_S, 2),
        ],
        warm_up: Duration::ZERO,
        length,
        patience: Duration::from_millis(1_500),
        connections_max: 8_000,
    });
    outcome.map_err(|error| format!("the load could not be sent: {error}"))?;
    Ok(server.end())
}

/// Milliseconds of every refusal that was decided at once.
fn decisions(log: &str) -> Vec<f64> {
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    lines
        .filter(|line| AT_ONCE.iter().any(|reason| line["reason"] == *reason))
        .filter_map(|line| line["total_ms"].as_f64())
        .collect()
}

fn rows(took: Vec<f64>) -> Vec<Row> {
    let count = took.len();
    let all = Quantiles::of(took.into_iter());
    let row = |part: f64, name: &str| Row::new(name, Kind::Macronode.name(), all.at(part), "ms");
    vec![
        row(0.5, "median of decisions"),
        row(0.999, "p99.9 of decisions")
            .promised("at most 1 ms", all.at(0.999) <= MOST_MS)
            .noted(format!("of {count} refusals")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_decided_at_once_counts() {
        let log = r#"{"reason":"queue-full","total_ms":0.1}
{"reason":"queue-wait","total_ms":500.0}
no line of ours
{"reason":"share-full","total_ms":1.5}"#;
        assert_eq!(decisions(log), [0.1, 1.5]);
        let rows = rows(decisions(log));
        assert_eq!(rows[1].goal.as_ref().map(|goal| goal.met), Some(false));
    }
}
