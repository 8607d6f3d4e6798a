//! `hot-paths check|update`: what a step on the way of every request costs in instructions, the same on any day.
//!
//! Each path is driven alone, so that callgrind counts nothing but it. Time depends on the machine and on who else
//! works on it; the instructions of one program depend on neither.

mod count;
mod paths;
mod verdict;

use std::process::ExitCode;

use verdict::Counts;

const USAGE: &str = "usage: hot-paths check FILE PERCENT | update FILE | run PATH TIMES";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["check", file, percent] => check(file, percent),
        ["update", file] => update(file),
        ["run", path, times] => run(path, times),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Compares with what is kept; fails when a path grew by more than so many percent.
fn check(file: &str, percent: &str) -> Result<(), String> {
    let percent = percent.parse().map_err(|_| USAGE.to_owned())?;
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let kept: Counts = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    let told = verdict::judge(&kept, &counted()?, percent);
    print!("{}", told.text);
    match told.grown {
        0 => Ok(()),
        grown => Err(format!(
            "{grown} hot paths grew. If that is meant, keep the new counts: cargo xtask bench instructions --update"
        )),
    }
}

fn update(file: &str) -> Result<(), String> {
    let counts = counted()?;
    let text = serde_json::to_string_pretty(&counts).map_err(|error| error.to_string())?;
    std::fs::write(file, text + "\n").map_err(|error| format!("{file}: {error}"))?;
    counts
        .iter()
        .for_each(|(path, count)| println!("{path:<24} {count:>8}"));
    Ok(())
}

fn counted() -> Result<Counts, String> {
    let count = |path: &paths::Path| Ok((path.name.to_owned(), count::each(path.name)?));
    paths::ALL.iter().map(count).collect()
}

fn run(name: &str, times: &str) -> Result<(), String> {
    let path = paths::ALL.iter().find(|path| path.name == name);
    let path = path.ok_or_else(|| format!("no path is called {name}"))?;
    let times = times.parse().map_err(|_| USAGE.to_owned())?;
    (path.run)(times);
    Ok(())
}
