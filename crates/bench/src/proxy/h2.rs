//! HTTP/2 clients: h2load, which everybody can run again.

use std::process::Command;
use std::time::Duration;

use super::Sample;
use crate::peers::{Running, on_path};

pub(super) fn sample(server: &Running, length: Duration) -> Result<Sample, String> {
    let h2load = on_path("h2load").ok_or("needs h2load (apt-get install nghttp2-client)")?;
    let url = format!("http://{}/bytes/1024", server.address());
    // Whole seconds are all it knows.
    let seconds = length.as_secs().max(1).to_string();
    let before = server.cpu_time();
    let output = Command::new(h2load)
        .args(["-D", &seconds, "-c", "8", "-m", "32", "-t", "1"])
        .args(["-H", "x-tenant: bench", &url])
        .output();
    let spent = server.cpu_time().saturating_sub(before);
    let output = output.map_err(|error| format!("h2load: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Counts { good, bad } =
        counts(&text).ok_or_else(|| format!("h2load said something else: {text}"))?;
    Ok(Sample {
        each: spent.as_secs_f64() * 1e6 / good.max(1) as f64,
        per_s: good as f64 / length.as_secs_f64().max(1.0),
        p50_us: None,
        p99_us: None,
        answers: good,
        failures: bad,
    })
}

#[derive(Debug, PartialEq, Eq)]
struct Counts {
    good: u64,
    bad: u64,
}

/// From the line of statuses: `status codes: 100 2xx, 0 3xx, 1 4xx, 2 5xx`.
fn counts(text: &str) -> Option<Counts> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("status codes: "))?;
    let of = |class: &str| -> Option<u64> {
        let part = line.split(", ").find(|part| part.ends_with(class))?;
        part.split(' ').next()?.parse().ok()
    };
    Some(Counts {
        good: of("2xx")? + of("3xx")?,
        bad: of("4xx")? + of("5xx")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_counted_by_class() {
        let text = "requests: 9 total\nstatus codes: 120 2xx, 3 3xx, 4 4xx, 5 5xx\ntraffic: 1MB\n";
        assert_eq!(counts(text), Some(Counts { good: 123, bad: 9 }));
        assert_eq!(counts("connection refused"), None);
    }
}
