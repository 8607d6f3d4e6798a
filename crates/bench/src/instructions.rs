//! Instructions a request in user mode: the same on a busy machine as on a quiet one.

use crate::load::closed::Until;
use crate::peers::{Kind, Running, on_path};
use crate::turns::Sample;

const FEW: u64 = 500;
const MANY: u64 = 3_500;
const UNDER: [&str; 3] = ["valgrind", "--tool=callgrind", "--callgrind-out-file=calls"];

/// Two runs of different length: what start and end cost is the same in both. `start` runs the server under the
/// given words, `load` asks it.
pub(crate) fn count(
    kind: Kind,
    start: impl Fn(&[&str]) -> Result<Running, String>,
    load: impl Fn(&Running, Until) -> Result<Sample, String>,
) -> Result<Sample, String> {
    if on_path("valgrind").is_none() {
        let name = kind.name();
        return Err(format!(
            "{name}: no instructions without valgrind (apt-get install valgrind)"
        ));
    }
    let run = |requests| -> Result<u64, String> {
        let server = start(&UNDER)?;
        let sample = load(&server, Until::Answers(requests));
        let sample = sample.map_err(|error| format!("{} under valgrind: {error}", kind.name()))?;
        counted(kind, &sample, &server.end())
    };
    let (few, many) = (run(FEW)?, run(MANY)?);
    Ok(Sample {
        each: many.saturating_sub(few) as f64 / (MANY - FEW) as f64,
        per_s: f64::NAN,
        p50_us: None,
        p99_us: None,
        answers: MANY - FEW,
        failures: 0,
    })
}

fn counted(kind: Kind, sample: &Sample, printed: &str) -> Result<u64, String> {
    if sample.failures > 0 {
        return Err(format!(
            "{} under valgrind: {} requests failed",
            kind.name(),
            sample.failures
        ));
    }
    collected(printed).ok_or_else(|| format!("valgrind said something else: {printed}"))
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
