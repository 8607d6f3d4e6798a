//! HTTP/2 clients: h2load, which everybody can run again.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use super::Sample;
use crate::peers::{Running, on_path};

pub(super) fn sample(server: &Running, length: Duration) -> Result<Sample, String> {
    let url = format!("http://{}/bytes/1024", server.address());
    let words = ["-c", "8", "-m", "32", "-H", "x-tenant: bench", &url];
    let (Counts { good, bad }, spent) = run(&words, length, || server.cpu_time())?;
    Ok(Sample {
        each: spent.as_secs_f64() * 1e6 / good.max(1) as f64,
        per_s: good as f64 / length.as_secs_f64().max(1.0),
        p50_us: None,
        p99_us: None,
        answers: good,
        failures: bad,
    })
}

/// Sends a body over one connection, so many at a time; microseconds of the meter, a request.
pub(crate) fn posted(
    target: SocketAddr,
    body: &[u8],
    at_once: usize,
    length: Duration,
    meter: impl Fn() -> Duration,
) -> Result<f64, String> {
    let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    std::fs::write(file.path(), body).map_err(|error| error.to_string())?;
    let (path, at_once) = (file.path().to_string_lossy(), at_once.to_string());
    let url = format!("http://{target}/echo");
    let words = ["-c", "1", "-m", &at_once, "-d", &path, &url];
    let (Counts { good, bad }, spent) = run(&words, length, meter)?;
    match bad {
        0 => Ok(spent.as_secs_f64() * 1e6 / good.max(1) as f64),
        bad => Err(format!("{bad} requests over HTTP/2 failed")),
    }
}

fn run(
    words: &[&str],
    length: Duration,
    meter: impl Fn() -> Duration,
) -> Result<(Counts, Duration), String> {
    let h2load = on_path("h2load").ok_or("needs h2load (apt-get install nghttp2-client)")?;
    // Whole seconds are all it knows.
    let seconds = length.as_secs().max(1).to_string();
    let before = meter();
    let output = Command::new(h2load)
        .args(["-D", &seconds, "-t", "1"])
        .args(words)
        .output();
    let spent = meter().saturating_sub(before);
    let output = output.map_err(|error| format!("h2load: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counts = counts(&text).ok_or_else(|| format!("h2load said something else: {text}"))?;
    Ok((counts, spent))
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
