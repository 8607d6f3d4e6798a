//! A day of the node in virtual time, twice: every promise kept, and the same history.

use crate::shell::Invocation;
use crate::steps::Done;
use crate::tally::Tally;

const SEED: &str = "MACRONODE_SEED";

pub(super) fn day(_: &mut Tally) -> Result<Done, String> {
    let seed = std::env::var(SEED).unwrap_or_else(|_| "24".to_owned());
    let day = Invocation::cargo(&["run", "--quiet", "--package", "simulation", "--"])
        .args(["--seed", &seed])
        // Killed workers are no news, and each backtrace takes longer than an hour of virtual time.
        .env("RUST_BACKTRACE", "0");
    let (first, second) = (told(&day)?, told(&day)?);
    match first == second {
        true => Ok(Done::Passed),
        false => Err(format!(
            "seed {seed} had two histories: {first} and {second}"
        )),
    }
}

/// Its last line, which has the digest.
fn told(day: &Invocation) -> Result<String, String> {
    let mut last = String::new();
    day.stream(|line| last = line.to_owned())?;
    Ok(last)
}
