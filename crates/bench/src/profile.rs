//! Where the time goes: a benchmark run under the system's sampler, its stacks folded and drawn.

mod flame;
mod stacks;

use std::path::Path;
use std::process::{Command, Stdio};

use crate::catalogue::Entry;
use crate::peers::on_path;
use crate::results;

/// Samples a second: enough to see a hundredth, few enough to disturb little.
const RATE: &str = "199";
/// How much of each stack is kept to be unwound: what is asynchronous is deep.
const UNWIND: &str = "dwarf,16384";
const RECORD: &str = "target/bench/perf.data";

/// Runs the benchmark once more, sampled; says so when this machine cannot.
pub fn profile(entry: &Entry, words: &[String]) -> Result<(), String> {
    let perf = on_path("perf").ok_or(
        "no profile: perf is not installed (apt-get install linux-perf); the instruction counts of \
         `cargo xtask bench instructions` need valgrind only",
    )?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let words = words.iter().filter(|word| word.as_str() != "--profile");
    let recorded = Command::new(&perf)
        .args([
            "record",
            "-q",
            "-F",
            RATE,
            "--call-graph",
            UNWIND,
            "-o",
            RECORD,
            "--",
        ])
        .arg(program)
        .args(words)
        .stdout(Stdio::null())
        .status();
    if !recorded.is_ok_and(|status| status.success()) {
        return Err(
            "no profile: perf may not record here (see kernel.perf_event_paranoid)".to_owned(),
        );
    }
    let told = Command::new(&perf)
        .args(["script", "--no-inline", "-i", RECORD, "-F", "comm,ip,sym"])
        .args(["--comm", who(entry)])
        .stderr(Stdio::null())
        .output();
    // The record is large, and of no use once it is folded.
    let _ = std::fs::remove_file(RECORD);
    let told = told.map_err(|error| format!("no profile: perf: {error}"))?;
    keep(entry.name, &String::from_utf8_lossy(&told.stdout))
}

/// Where servers are measured it is ours that is looked at, elsewhere this program itself.
fn who(entry: &Entry) -> &'static str {
    match entry.starts_servers() {
        true => "macronode",
        false => "bench",
    }
}

fn keep(name: &str, script: &str) -> Result<(), String> {
    let stacks = stacks::folded(script);
    if stacks.is_empty() {
        return Err("no profile: perf took no sample of it".to_owned());
    }
    let folder = Path::new(results::FOLDER);
    let lines: String = stacks
        .iter()
        .map(|(stack, count)| format!("{stack} {count}\n"))
        .collect();
    let (folded, picture) = (
        folder.join(format!("{name}.folded")),
        folder.join(format!("{name}.flame.svg")),
    );
    results::write(&folded, &lines)?;
    results::write(&picture, &flame::draw(name, &stacks))?;
    eprintln!("profile: {}, {}", picture.display(), folded.display());
    Ok(())
}
