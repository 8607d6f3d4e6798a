//! Instructions a request in user mode: the same on a busy machine as on a quiet one.

use super::{Sample, Stand};
use crate::load::closed::Until;
use crate::peers::{Kind, on_path};

const FEW: u64 = 500;
const MANY: u64 = 3_500;

/// Two runs of different length: what start and end cost is the same in both.
pub(super) fn count(stand: &Stand<'_>, kind: Kind) -> Result<Sample, String> {
    if on_path("valgrind").is_none() {
        let name = kind.name();
        return Err(format!(
            "{name}: no instructions without valgrind (apt-get install valgrind)"
        ));
    }
    let (few, many) = (run(stand, kind, FEW)?, run(stand, kind, MANY)?);
    Ok(Sample {
        each: many.saturating_sub(few) as f64 / (MANY - FEW) as f64,
        per_s: f64::NAN,
        p50_us: None,
        p99_us: None,
        answers: MANY - FEW,
        failures: 0,
    })
}

fn run(stand: &Stand<'_>, kind: Kind, requests: u64) -> Result<u64, String> {
    let under = ["valgrind", "--tool=callgrind", "--callgrind-out-file=calls"];
    let server = stand.start(kind, &under)?;
    let sample = stand.closed(&server, Until::Answers(requests));
    let sample = sample.map_err(|error| format!("{} under valgrind: {error}", kind.name()))?;
    if sample.failures > 0 {
        return Err(format!(
            "{} under valgrind: {} requests failed",
            kind.name(),
            sample.failures
        ));
    }
    let printed = server.end();
    collected(&printed).ok_or_else(|| format!("valgrind said something else: {printed}"))
}

/// From `==12== Collected : 123456`.
fn collected(printed: &str) -> Option<u64> {
    let line = printed.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_sum_is_found_among_other_lines() {
        let printed = "==7== Events    : Ir\n==7== Collected : 987654\n==7==\n";
        assert_eq!(super::collected(printed), Some(987_654));
        assert_eq!(super::collected("killed"), None);
    }
}
