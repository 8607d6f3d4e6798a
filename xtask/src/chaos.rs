//! `chaos`: what the node promises to withstand, each by one command that prints its figures.

mod record;

use std::time::Instant;

use crate::Outcome;
use crate::args::Args;
use crate::bench;
use crate::shell::Invocation;
use crate::tally::Tally;
use crate::workspace;
use record::Record;

/// Something that is shown.
struct Show {
    name: &'static str,
    /// The promises, by their ids.
    shows: &'static str,
    about: &'static str,
    by: &'static [By],
}

/// What shows it, and prints what it measured.
enum By {
    /// An end-to-end test, on both runtimes: either may be what somebody runs.
    Test(&'static str),
    /// A benchmark of the node as it ships.
    Bench(&'static [&'static str]),
    /// A benchmark of a node that can be told to kill its own workers.
    BenchOfMortals(&'static [&'static str]),
    /// Another command.
    Xtask(&'static [&'static str]),
}

const SHOWS: &[Show] = &[
    Show {
        name: "drain",
        shows: "AC-01",
        about: "SIGTERM under load: nothing that was accepted is lost, and the end comes in time",
        by: &[By::Test("drain"), By::Bench(&["drain"])],
    },
    Show {
        name: "deadline",
        shows: "AC-02",
        about: "deadlines are kept, whoever is late",
        by: &[By::Test("gateway_deadlines")],
    },
    Show {
        name: "busy",
        shows: "AC-03",
        about: "twice what can be done is asked for: who is refused knows at once, the others are served",
        by: &[By::Test("overload"), By::Test("gateway_admission")],
    },
    Show {
        name: "kill",
        shows: "AC-04",
        about: "workers die at 4,000 requests a second, behind both doors",
        by: &[By::Test("gateway_chaos"), By::BenchOfMortals(&["kill"])],
    },
    Show {
        name: "fairness",
        shows: "AC-05",
        about: "tenants get their parts by weight, whatever one of them does",
        by: &[By::Test("gateway_tenants"), By::Bench(&["fairness"])],
    },
    Show {
        name: "models",
        shows: "AC-06",
        about: "own primitives under every interleaving; executions are counted, mutants are caught",
        by: &[
            By::Xtask(&["test", "--only", "loom"]),
            By::Xtask(&["test", "--only", "shuttle"]),
        ],
    },
    Show {
        name: "specs",
        shows: "AC-07",
        about: "the TLA+ specifications, checked by TLC",
        by: &[By::Xtask(&["deep", "--only", "tlc"])],
    },
    Show {
        name: "fuzz",
        shows: "AC-08",
        about: "every parser under libFuzzer, from its kept corpus",
        by: &[By::Xtask(&["deep", "--only", "fuzz"])],
    },
    Show {
        name: "sanitizers",
        shows: "AC-09",
        about: "Miri on the pure cores, ThreadSanitizer on what shares memory, where the toolchain has them",
        by: &[
            By::Xtask(&["deep", "--only", "miri"]),
            By::Xtask(&["deep", "--only", "tsan"]),
        ],
    },
    Show {
        name: "amnesia",
        shows: "AC-10, ND-05",
        about: "nothing is written, by a spy, by the kernel, by a scan of memory; each first sees a violation",
        by: &[By::Test("amnesia")],
    },
    Show {
        name: "soak",
        shows: "AC-11",
        about: "ten minutes (--minutes N) of load, dying workers, reloads, leaving clients: memory, descriptors, \
                tasks stay flat",
        by: &[By::BenchOfMortals(&["soak"])],
    },
    Show {
        name: "simulation",
        shows: "AC-11",
        about: "a day of virtual time from a seed, the whole node under load and faults, twice the same history",
        by: &[By::Xtask(&["deep", "--only", "simulation"])],
    },
    Show {
        name: "watchdog",
        shows: "K-06, K-07",
        about: "a worker that stalls is seen while others go on; without a supervisor the process ends",
        by: &[By::Test("watchdog")],
    },
];

const RUNTIMES: [&str; 2] = ["multi", "single"];

/// Without a name, the list of what can be shown.
pub(crate) fn run(args: Args) -> Outcome {
    let words = args.rest();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            print!("{}", list());
            Ok(())
        }
        ["all"] => all(),
        ["soak", "--minutes", minutes] => soak(minutes),
        ["page"] => record::page(SHOWS.iter().map(|show| (show.name, show.shows, show.about))),
        [name] => {
            let show = SHOWS.iter().find(|show| show.name == name);
            shown(show.ok_or_else(|| format!("nothing is called `{name}`\n\n{}", list()))?)
        }
        _ => Err("one name at a time".to_owned()),
    }
}

fn list() -> String {
    let line = |show: &Show| format!("{:12} {:14} {}\n", show.name, show.shows, show.about);
    let shows: String = SHOWS.iter().map(line).collect();
    format!(
        "{shows}\nall          one after the other\npage         writes docs/acceptance.md from the last runs\n"
    )
}

/// One that fails does not hide what the others find.
fn all() -> Outcome {
    let failed = SHOWS.iter().filter(|show| shown(show).is_err());
    let failed: Vec<&str> = failed.map(|show| show.name).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("not shown: {}", failed.join(", "))),
    }
}

/// For another time than is asked of a soak; not what is told on the page.
fn soak(minutes: &str) -> Outcome {
    let words = ["--minutes", minutes].map(str::to_owned);
    bench::soak(Args::new(words))
}

fn shown(show: &Show) -> Outcome {
    let (began, mut record) = (Instant::now(), Record::default());
    let outcome = show.by.iter().try_for_each(|by| match by {
        By::Test(test) => tested(show, test, &mut record),
        By::Bench(words) => measured(words, &[], &mut record),
        By::BenchOfMortals(words) => measured(words, &["--features", "chaos"], &mut record),
        By::Xtask(words) => {
            let command = Invocation::cargo(&["xtask"]).args(words.iter().copied());
            record.said(format!("{command}"), &command)
        }
    });
    record.keep(show.name, &outcome, began.elapsed())?;
    outcome
}

fn tested(show: &Show, test: &str, record: &mut Record) -> Outcome {
    Invocation::cargo(&["build", "--package", "macronode", "--features", "chaos"]).run()?;
    let node = workspace::target().join("debug/macronode");
    for runtime in RUNTIMES {
        println!("\n== {} ({}) on {runtime}", show.name, show.shows);
        let tests = Invocation::cargo(&["test", "--package", "e2e", "--test", test, "--"])
            .args(["--nocapture", "--test-threads", "1"])
            .env("MACRONODE_BIN", node.to_string_lossy())
            .env("MACRONODE_TEST_RUNTIME", runtime);
        let mut tally = Tally::default();
        let what = format!("tests of `{test}`, {runtime}-thread runtime");
        record.heard(what, &tests, |line| tally.read(line))?;
        if tally.passed == 0 {
            return Err(format!("no test ran: {tests}"));
        }
    }
    Ok(())
}

fn measured(words: &[&str], features: &[&str], record: &mut Record) -> Outcome {
    Invocation::cargo(&["build", "--release", "--package", "macronode"])
        .args(features.iter().copied())
        .run()?;
    let node = workspace::target().join("release/macronode");
    let bench = Invocation::cargo(&["run", "--release", "--package", "bench", "--"])
        .args(words.iter().copied())
        .env("MACRONODE_BIN", node.to_string_lossy());
    record.said(format!("bench {}", words.join(" ")), &bench)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_shown_has_its_test() {
        for show in SHOWS {
            assert!(list().contains(show.name));
            for by in show.by {
                if let By::Test(test) = by {
                    let file = format!("crates/e2e/tests/{test}.rs");
                    assert!(workspace::root().join(&file).is_file(), "{file}");
                }
            }
        }
    }

    #[test]
    fn every_gate_of_acceptance_can_be_shown() {
        for number in 1..=11 {
            let id = format!("AC-{number:02}");
            assert!(SHOWS.iter().any(|show| show.shows.contains(&id)), "{id}");
        }
    }
}
