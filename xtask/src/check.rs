//! `check`: the gate that answers in the time one is willing to wait before each commit.

use crate::Outcome;
use crate::args::Args;
use crate::layering;
use crate::preview;
use crate::shell::Invocation;
use crate::steps::{Done, Series, Step};
use crate::tally::Tally;
use crate::tidy;
use crate::tools;

const GATE: Series = Series {
    command: "check",
    steps: &[
        Step {
            name: "fmt",
            about: "one layout, so that diffs show changes only",
            run: fmt,
        },
        Step {
            name: "tidy",
            about: "source rules no other tool knows",
            run: tidy,
        },
        Step {
            name: "layering",
            about: "dependencies among our crates point down only",
            run: layering,
        },
        Step {
            name: "preview",
            about: "the preview page is built from its sources",
            run: preview,
        },
        Step {
            name: "clippy",
            about: "lints, among them the banned channels, spawns and clocks",
            run: clippy,
        },
        Step {
            name: "deny",
            about: "licences, banned crates and sources of dependencies",
            run: deny,
        },
    ],
    stop_at_first: true,
    counts_tests: false,
};

pub(crate) fn run(args: Args) -> Outcome {
    tools::provide(tools::BUILD)?;
    GATE.run(args)
}

fn fmt(_: &mut Tally) -> Result<Done, String> {
    passed(Invocation::cargo(&["fmt", "--all", "--check"]).run())
}

fn preview(_: &mut Tally) -> Result<Done, String> {
    passed(preview::check())
}

/// Twice: a feature adds code, and leaving it out can leave other code unused.
fn clippy(_: &mut Tally) -> Result<Done, String> {
    for features in [&[][..], &["--all-features"]] {
        Invocation::cargo(&["clippy", "--workspace", "--all-targets"])
            .args(features.iter().copied())
            .args(["--", "-D", "warnings"])
            .run()?;
    }
    Ok(Done::Passed)
}

fn tidy(_: &mut Tally) -> Result<Done, String> {
    passed(tidy::check())
}

fn layering(_: &mut Tally) -> Result<Done, String> {
    passed(layering::check())
}

/// Advisories are left to `cargo deny check advisories`: their database changes by the day, and this
/// gate answers the same for the same tree.
fn deny(_: &mut Tally) -> Result<Done, String> {
    if !tools::present("cargo-deny") {
        return Ok(Done::NotHere(
            "cargo-deny is not installed; `cargo install --locked cargo-deny` brings it".to_owned(),
        ));
    }
    passed(
        Invocation::cargo(&[
            "deny",
            "check",
            "--hide-inclusion-graph",
            "bans",
            "licenses",
            "sources",
        ])
        .run(),
    )
}

fn passed(outcome: Outcome) -> Result<Done, String> {
    outcome.map(|()| Done::Passed)
}
