//! `test`: everything that must hold before a change is done, quickest first.

use crate::Outcome;
use crate::again;
use crate::args::Args;
use crate::instructions;
use crate::requirements;
use crate::s3_server;
use crate::shell::Invocation;
use crate::steps::{Done, Series, Step};
use crate::tally::Tally;
use crate::tools;
use crate::workspace;

const SUITE: Series = Series {
    command: "test",
    steps: &[
        Step {
            name: "unit",
            about: "unit, property and integration tests of every crate",
            run: unit,
        },
        Step {
            name: "doc",
            about: "the examples in the documentation",
            run: doc,
        },
        Step {
            name: "loom",
            about: "the rings and permits under every interleaving, bounded depth",
            run: loom,
        },
        Step {
            name: "shuttle",
            about: "the gate's futures under random schedules",
            run: shuttle,
        },
        Step {
            name: "e2e-multi",
            about: "the binary from outside, multi-thread runtime",
            run: e2e_multi,
        },
        Step {
            name: "e2e-single",
            about: "the binary from outside, one thread",
            run: e2e_single,
        },
        Step {
            name: "requirements",
            about: "every finished requirement is cited by a test",
            run: cited,
        },
        Step {
            name: "instructions",
            about: "no hot path takes more instructions than are kept for it",
            run: instructions::check,
        },
    ],
    stop_at_first: true,
    counts_tests: true,
};

pub(crate) fn run(args: Args) -> Outcome {
    tools::provide(tools::BUILD)?;
    SUITE.run(args)
}

/// Runs tests and counts them. A run in which no test ran proves nothing, so it fails.
pub(crate) fn counted(tests: &Invocation, tally: &mut Tally) -> Result<Done, String> {
    let mut run = Tally::default();
    let outcome = tests.stream(|line| run.read(line));
    tally.add(run);
    outcome?;
    if run.passed == 0 {
        return Err(format!("no test ran: {tests}"));
    }
    Ok(Done::Passed)
}

/// With every feature: what a feature hides must be tested too.
fn unit(tally: &mut Tally) -> Result<Done, String> {
    let tests = Invocation::cargo(&["test", "--workspace", "--exclude", "e2e", "--all-features"])
        .args(["--lib", "--bins", "--tests", "--examples"]);
    again::counted(&s3_server::told(tests), tally)
}

fn doc(tally: &mut Tally) -> Result<Done, String> {
    // Not every crate has examples, and rustdoc says "0 passed" for those: zero in all is no failure here.
    Invocation::cargo(&["test", "--workspace", "--all-features", "--doc"])
        .stream(|line| tally.read(line))?;
    Ok(Done::Passed)
}

/// The crates whose shared memory goes through a `sync` module that loom can replace.
const MODELLED: &[&str] = &[
    "bounded-ring",
    "concurrency-gate",
    "fair-queue",
    "rate-quota",
];

/// Those of them whose futures run under shuttle too.
const SHUTTLED: &[&str] = &["concurrency-gate", "fair-queue"];

/// Loom's own cfg rebuilds everything below it, so it keeps its own target directory. Only the models run: outside
/// of one, what is built for loom cannot live.
pub(crate) fn loom_models() -> Invocation {
    under_checker("loom", MODELLED)
}

/// Random schedules of what has too many interleavings for all of them.
fn shuttle_models() -> Invocation {
    under_checker("shuttle", SHUTTLED)
}

/// Without features: a runtime does not build in a checker's world.
fn under_checker(name: &str, packages: &[&'static str]) -> Invocation {
    let directory = workspace::target().join(name);
    Invocation::cargo(&[
        "test",
        "--lib",
        "--profile",
        "models",
        "--no-default-features",
    ])
    .args(["--target-dir", &directory.to_string_lossy()])
    .args(packages.iter().flat_map(|name| ["--package", name]))
    // The models print how many executions they explored.
    .args(["--", "--show-output"])
    .env("RUSTFLAGS", format!("--cfg {name}"))
}

fn loom(tally: &mut Tally) -> Result<Done, String> {
    counted(&loom_models(), tally)
}

fn shuttle(tally: &mut Tally) -> Result<Done, String> {
    counted(&shuttle_models(), tally)
}

fn e2e_multi(tally: &mut Tally) -> Result<Done, String> {
    e2e("multi", tally)
}

fn e2e_single(tally: &mut Tally) -> Result<Done, String> {
    e2e("single", tally)
}

/// The node under test has the chaos hooks in, which no released build has.
fn e2e(runtime: &str, tally: &mut Tally) -> Result<Done, String> {
    Invocation::cargo(&["build", "--package", "macronode", "--features", "chaos"]).run()?;
    let node = workspace::target().join("debug/macronode");
    let tests = Invocation::cargo(&["test", "--package", "e2e"])
        .env("MACRONODE_BIN", node.to_string_lossy())
        .env("MACRONODE_TEST_RUNTIME", runtime);
    again::counted(&s3_server::told(tests), tally)
}

fn cited(_: &mut Tally) -> Result<Done, String> {
    requirements::check().map(|()| Done::Passed)
}

#[cfg(test)]
mod tests {
    use super::{Invocation, Tally, counted};

    #[test]
    fn a_run_without_tests_fails() {
        let none = Invocation::new("echo", &["test result: ok. 0 passed; 0 failed;"]);
        assert!(counted(&none, &mut Tally::default()).is_err());
        let one = Invocation::new("echo", &["test result: ok. 1 passed; 0 failed;"]);
        let mut tally = Tally::default();
        assert!(counted(&one, &mut tally).is_ok());
        assert!(
            counted(&none, &mut tally).is_err(),
            "tests of an earlier run do not count for this one"
        );
    }
}
