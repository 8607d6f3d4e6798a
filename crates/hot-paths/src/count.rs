//! Instructions of one path, counted by callgrind in two runs of different length: start and end cost both the same.
//!
//! What is counted is this program's own code. The system's library chooses its copies and searches by the processor,
//! and so do some crates: a count with them in it would be another one on another machine.

mod callgrind;

use std::path::Path;
use std::process::{Command, Stdio};

const FEW: u64 = 200;
const MANY: u64 = 1_200;

/// Of one step on the path.
pub(crate) fn each(path: &str) -> Result<u64, String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (few, many) = (run(path, FEW, home.path())?, run(path, MANY, home.path())?);
    Ok(many.saturating_sub(few) / (MANY - FEW))
}

fn run(path: &str, times: u64, home: &Path) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let out = home.join("calls");
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--compress-strings=no",
            "--compress-pos=no",
        ])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(&program)
        .args(["run", path, &times.to_string()])
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| format!("valgrind does not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{path} failed under valgrind:\n{said}"));
    }
    let text = std::fs::read_to_string(&out).map_err(|error| error.to_string())?;
    let sum = callgrind::own_cost(&text, &program.to_string_lossy());
    (sum > 0)
        .then_some(sum)
        .ok_or_else(|| format!("{path}: callgrind counted nothing of this program"))
}
