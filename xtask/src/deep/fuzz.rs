//! A short run of every fuzz target, on the committed corpus and onward.

use super::nightly_lacks;
use crate::shell::Invocation;
use crate::steps::Done;
use crate::tally::Tally;
use crate::tools;
use crate::workspace;

const SMOKE: &str = "-max_total_time=30";

pub(super) fn smoke(_: &mut Tally) -> Result<Done, String> {
    if let Some(absent) = nightly_lacks(&["--version"], "rustup toolchain install nightly") {
        return Ok(absent);
    }
    let targets = targets();
    if targets.is_empty() {
        return Err("fuzz/fuzz_targets holds no target".to_owned());
    }
    if !tools::present("cargo-fuzz")
        && Invocation::cargo(&["install", "--locked", "cargo-fuzz"])
            .run()
            .is_err()
    {
        return Ok(Done::NotHere(
            "cargo-fuzz is missing and `cargo install --locked cargo-fuzz` fails".to_owned(),
        ));
    }
    targets.iter().try_for_each(|target| fuzzed(target))?;
    Ok(Done::Passed)
}

/// What is found goes under the target directory: the committed corpus grows by choice, not by every run.
fn fuzzed(target: &str) -> Result<(), String> {
    let found = workspace::target().join("fuzz-corpus").join(target);
    std::fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
    Invocation::nightly(&["fuzz", "run", target])
        .args([
            found.to_string_lossy().as_ref(),
            &format!("fuzz/corpus/{target}"),
        ])
        .args(["--", SMOKE])
        .run()
}

fn targets() -> Vec<String> {
    let files = std::fs::read_dir(workspace::root().join("fuzz/fuzz_targets"))
        .into_iter()
        .flatten()
        .flatten();
    let name = |path: std::path::PathBuf| {
        let rust = path.extension().is_some_and(|extension| extension == "rs");
        rust.then(|| {
            path.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
        })
        .flatten()
    };
    let mut targets: Vec<String> = files.filter_map(|file| name(file.path())).collect();
    targets.sort();
    targets
}
