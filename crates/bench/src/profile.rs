//! Where the time goes: a benchmark run under the system's sampler, its stacks folded and drawn.

mod calls;
mod flame;
mod stacks;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::catalogue::Entry;
use crate::load::{request, sequence};
use crate::peers::{Door, Kind, Launch, macronode, on_path};
use crate::results;
use crate::stand::{Stand, reserve};

/// Samples a second: enough to see a hundredth, few enough to disturb little.
const RATE: &str = "199";
/// How much of each stack is kept to be unwound: what is asynchronous is deep.
const UNWIND: &str = "dwarf,16384";
const RECORD: &str = "target/bench/perf.data";
const CALLS: &str = "calls";
const UNDER: &[&str] = &[
    "valgrind",
    "--tool=callgrind",
    "--callgrind-out-file=calls",
    "--compress-strings=no",
    "--compress-pos=no",
];
/// So many that the start of the process is the smaller part.
const COUNTED: u64 = 8_000;
const BYTES: usize = 1_024;

/// Runs the benchmark once more, sampled. Without a sampler the gateway's instructions are counted instead.
pub fn profile(entry: &Entry, words: &[String]) -> Result<(), String> {
    match on_path("perf") {
        Some(perf) => sampled(entry, words, &perf),
        None => {
            eprintln!(
                "perf is not installed (apt-get install linux-perf): callgrind counts a proxied request instead"
            );
            counted(entry)
        }
    }
}

fn sampled(entry: &Entry, words: &[String], perf: &Path) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let words = words.iter().filter(|word| word.as_str() != "--profile");
    let recorded = Command::new(perf)
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
    let told = Command::new(perf)
        .args(["script", "--no-inline", "-i", RECORD, "-F", "comm,ip,sym"])
        .args(["--comm", who(entry)])
        .stderr(Stdio::null())
        .output();
    // The record is large, and of no use once it is folded.
    let _ = std::fs::remove_file(RECORD);
    let told = told.map_err(|error| format!("no profile: perf: {error}"))?;
    keep(
        entry.name,
        &stacks::folded(&String::from_utf8_lossy(&told.stdout)),
    )
}

/// A node under callgrind, asked as in the first case of the proxy's.
fn counted(entry: &Entry) -> Result<(), String> {
    if !entry.starts_servers() {
        return Err("no profile: without perf only servers are looked into".to_owned());
    }
    if on_path("valgrind").is_none() {
        return Err("no profile: neither perf nor valgrind is installed".to_owned());
    }
    let (stand, port) = (Stand::new()?, reserve()?);
    let place = stand.place(port.addr(), Door::Plain);
    let launch = Launch {
        kind: Kind::Macronode,
        config: &macronode::realistic(&place),
        files: &[],
        under: UNDER,
    };
    let server = launch.start(port)?;
    let target = server.address();
    let asked = sequence::run(target, 0..COUNTED, BYTES, |_| {
        request(
            "GET",
            target,
            "/bytes/1024",
            &[("X-Tenant", "profile")],
            b"",
        )
    });
    asked.map_err(|error| format!("no profile: {error}"))?;
    let left = server.end_and_read(CALLS);
    let left = left.map_err(|error| format!("no profile: callgrind left nothing: {error}"))?;
    keep(entry.name, &calls::folded(&left))
}

/// Where servers are measured it is ours that is looked at, elsewhere this program itself.
fn who(entry: &Entry) -> &'static str {
    match entry.starts_servers() {
        true => "macronode",
        false => "bench",
    }
}

fn keep(name: &str, stacks: &BTreeMap<String, u64>) -> Result<(), String> {
    if stacks.is_empty() {
        return Err("no profile: nothing was seen of it".to_owned());
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
    results::write(&picture, &flame::draw(name, stacks))?;
    eprintln!("profile: {}, {}", picture.display(), folded.display());
    Ok(())
}
