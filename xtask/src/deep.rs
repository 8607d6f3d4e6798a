//! `deep`: the slow proofs, each run or explained away in a sentence where this machine cannot.

mod fuzz;
mod sanitize;
mod simulation;
mod tlc;

use crate::Outcome;
use crate::args::Args;
use crate::shell::Invocation;
use crate::steps::{Done, Series, Step};
use crate::suite::{counted, loom_models};
use crate::tally::Tally;
use crate::tools;
use crate::workspace;

const PROOFS: Series = Series {
    command: "deep",
    steps: &[
        Step {
            name: "loom",
            about: "every interleaving with one more preemption than the suite",
            run: loom,
        },
        Step {
            name: "miri",
            about: "undefined behaviour in the pure cores",
            run: sanitize::miri,
        },
        Step {
            name: "tsan",
            about: "data races, by ThreadSanitizer",
            run: sanitize::threads,
        },
        Step {
            name: "fuzz",
            about: "every fuzz target for half a minute",
            run: fuzz::smoke,
        },
        Step {
            name: "kills",
            about: "SIGKILL a thousand times while the store fills, alone and in the node",
            run: kills,
        },
        Step {
            name: "simulation",
            about: "a day of the whole node in virtual time, under load and faults; a seed of your own: MACRONODE_SEED",
            run: simulation::day,
        },
        Step {
            name: "tlc",
            about: "every TLA+ specification, by TLC",
            run: tlc::models,
        },
    ],
    // A proof takes minutes to hours: one that fails must not hide what the others find.
    stop_at_first: false,
    counts_tests: false,
};

pub(crate) fn run(args: Args) -> Outcome {
    tools::provide(tools::BUILD)?;
    PROOFS.run(args)
}

fn loom(tally: &mut Tally) -> Result<Done, String> {
    let depth = std::env::var("LOOM_MAX_PREEMPTIONS").unwrap_or_else(|_| "3".to_owned());
    counted(&loom_models().env("LOOM_MAX_PREEMPTIONS", depth), tally)
}

/// The store by itself, against its model too, and the whole node.
fn kills(tally: &mut Tally) -> Result<Done, String> {
    let store = Invocation::cargo(&["test", "--package", "verified-store", "--release"])
        .env("VERIFIED_STORE_KILLS", "1000")
        .env("VERIFIED_STORE_CASES", "200");
    counted(&store, tally)?;
    counted(&killed_node()?, tally)
}

fn killed_node() -> Result<Invocation, String> {
    Invocation::cargo(&["build", "--package", "macronode", "--features", "chaos"]).run()?;
    let node = workspace::target().join("debug/macronode");
    let tests = Invocation::cargo(&["test", "--package", "e2e", "--test", "edge_kills"])
        .args(["--", "--show-output"]);
    Ok(tests
        .env("MACRONODE_BIN", node.to_string_lossy())
        .env("MACRONODE_KILLS", "1000"))
}

/// `None` when the nightly toolchain has what `probe` asks for, else the sentence that says how to get it.
fn nightly_lacks(probe: &[&str], remedy: &str) -> Option<Done> {
    let has = tools::present("rustup") && Invocation::nightly(probe).probe().is_some();
    (!has).then(|| {
        Done::NotHere(format!(
            "the nightly toolchain lacks it; `{remedy}` brings it"
        ))
    })
}
