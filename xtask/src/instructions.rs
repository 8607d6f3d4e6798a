//! The instruction counts of the hot paths: held against those that are kept, or kept anew.

use crate::Outcome;
use crate::args::Args;
use crate::shell::Invocation;
use crate::steps::Done;
use crate::tally::Tally;
use crate::tools;

const KEPT: &str = "crates/hot-paths/instructions.json";

/// Who looks wants to know of every step.
const TOLERANCE_PERCENT: &str = "5";
/// The suite stops what became another path; a little more work in one is for who looks to judge.
const SUITE_TOLERANCE_PERCENT: &str = "15";

/// `bench instructions [--update]`.
pub(crate) fn run(mut args: Args) -> Outcome {
    let update = args.flag("--update");
    args.finish()?;
    match missing() {
        Some(why) => Err(why),
        None if update => driver(&["update", KEPT]),
        None => driver(&["check", KEPT, TOLERANCE_PERCENT]),
    }
}

/// A step of the suite: where it cannot be counted it says so, and fails nobody.
pub(crate) fn check(_: &mut Tally) -> Result<Done, String> {
    match missing() {
        Some(why) => Ok(Done::NotHere(why)),
        None => driver(&["check", KEPT, SUITE_TOLERANCE_PERCENT]).map(|()| Done::Passed),
    }
}

/// Why it cannot be counted here.
fn missing() -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        return Some("the kept counts are those of x86-64".to_owned());
    }
    tools::offer(tools::VALGRIND);
    let there = tools::present("valgrind");
    (!there).then(|| "needs valgrind (apt-get install valgrind)".to_owned())
}

/// A release build: what is counted is what ships.
fn driver(words: &[&str]) -> Outcome {
    Invocation::cargo(&["run", "--release", "--package", "hot-paths", "--"])
        .args(words.iter().copied())
        .run()
}
