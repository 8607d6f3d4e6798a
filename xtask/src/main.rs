//! `cargo xtask`: everything one does to this repository, as commands that list themselves.

mod again;
mod args;
mod bench;
mod browser;
mod chaos;
mod check;
mod deep;
mod demo_pack;
mod docs;
mod instructions;
mod layering;
mod meter;
mod npm;
mod preview;
mod release;
mod requirements;
mod run;
mod s3_server;
mod shell;
mod steps;
mod suite;
mod tally;
mod tidy;
mod tools;
mod workspace;

use args::Args;
use std::process::ExitCode;

/// What a command comes to: nothing to add, or the sentence that says what is wrong.
type Outcome = Result<(), String>;

struct Command {
    usage: &'static str,
    about: &'static str,
    run: fn(Args) -> Outcome,
}

impl Command {
    fn name(&self) -> &str {
        self.usage.split(' ').next().unwrap_or(self.usage)
    }
}

const COMMANDS: &[Command] = &[
    Command {
        usage: "run [ARGS...]",
        about: "build the node and run it in the foreground; ARGS go to `macronode run`",
        run: run::run,
    },
    Command {
        usage: "test [--only STEP] [--list]",
        about: "all tests: unit, doc, loom, e2e on both runtimes, requirement citations",
        run: suite::run,
    },
    Command {
        usage: "check [--only STEP] [--list]",
        about: "the quick gate: format, clippy, tidy, layering, dependency policy",
        run: check::run,
    },
    Command {
        usage: "tidy",
        about: "source rules no other tool knows: file length, leftovers, links, machine paths",
        run: tidy::run,
    },
    Command {
        usage: "requirements [--list]",
        about: "which test shows which requirement; fails on an unknown id or an uncited one",
        run: requirements::run,
    },
    Command {
        usage: "docs [--check]",
        about: "rewrite docs/reference from the code, or say which page is stale",
        run: docs::run,
    },
    Command {
        usage: "deep [--only STEP] [--list]",
        about: "the slow proofs: loom at depth, miri, fuzz, TLC, ThreadSanitizer",
        run: deep::run,
    },
    Command {
        usage: "preview",
        about: "test the map preview page and rebuild what the node serves of it; needs Node.js",
        run: preview::run,
    },
    Command {
        usage: "demo-pack",
        about: "make the demonstration pack anew from Natural Earth's data; needs Node.js",
        run: demo_pack::run,
    },
    Command {
        usage: "browser",
        about: "the running node before Chromium and the PMTiles client; needs Node.js and Chromium",
        run: browser::run,
    },
    Command {
        usage: "release",
        about: "the program to deploy, trained with the lab's loads: target/trained/macronode",
        run: release::run,
    },
    Command {
        usage: "bench [NAME] [--quick] [--json] [--only WORD,...] [--against PEER,...] [--plain]",
        about: "measure beside the peers and write target/bench/report.html; no NAME: all; --list names them",
        run: bench::bench,
    },
    Command {
        usage: "chaos [NAME]",
        about: "one promise of the node under fire, with its figures; no NAME lists them",
        run: chaos::run,
    },
    Command {
        usage: "soak [--minutes N]",
        about: "a release node under load for N minutes (10): memory, descriptors, tasks stay flat",
        run: bench::soak,
    },
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(name) = words.next() else {
        print!("{}", manual());
        return ExitCode::SUCCESS;
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{}", manual());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name() == name) else {
        eprint!("no command `{name}`\n\n{}", manual());
        return ExitCode::from(2);
    };
    match (command.run)(Args::new(words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn manual() -> String {
    let width = COMMANDS
        .iter()
        .map(|command| command.usage.len())
        .max()
        .unwrap_or(0);
    let mut text = String::from("cargo xtask COMMAND\n\n");
    for Command { usage, about, .. } in COMMANDS {
        text.push_str(&format!("  {usage:width$}  {about}\n"));
    }
    text
}
