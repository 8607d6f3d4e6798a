//! `chaos`: what the node promises to withstand, each by one command that prints its figures.

use crate::Outcome;
use crate::args::Args;
use crate::shell::Invocation;
use crate::suite::counted;
use crate::tally::Tally;
use crate::workspace;

/// Something that is shown against the running node.
struct Show {
    name: &'static str,
    /// The promises, by their ids.
    shows: &'static str,
    about: &'static str,
    /// The end-to-end test that shows it, and prints what it measured.
    test: &'static str,
}

const SHOWS: &[Show] = &[
    Show {
        name: "amnesia",
        shows: "AC-10, ND-05",
        about: "nothing is written, by a spy, by the kernel, by a scan of memory; each first sees a violation",
        test: "amnesia",
    },
    Show {
        name: "watchdog",
        shows: "K-06, K-07",
        about: "a worker that stalls is seen while others go on; without a supervisor the process ends",
        test: "watchdog",
    },
];

/// On both runtimes, since either may be what somebody runs.
const RUNTIMES: [&str; 2] = ["multi", "single"];

/// Without a name, the list of what can be shown.
pub(crate) fn run(args: Args) -> Outcome {
    let words = args.rest();
    let [name] = words.as_slice() else {
        print!("{}", list());
        return match words.is_empty() {
            true => Ok(()),
            false => Err("one name at a time".to_owned()),
        };
    };
    let show = SHOWS.iter().find(|show| show.name == name);
    let show = show.ok_or_else(|| format!("nothing is called `{name}`\n\n{}", list()))?;
    Invocation::cargo(&["build", "--package", "macronode", "--features", "chaos"]).run()?;
    RUNTIMES.iter().try_for_each(|runtime| shown(show, runtime))
}

fn list() -> String {
    let line = |show: &Show| format!("{:12} {:14} {}\n", show.name, show.shows, show.about);
    SHOWS.iter().map(line).collect()
}

fn shown(show: &Show, runtime: &str) -> Outcome {
    println!("\n== {} ({}) on {runtime}", show.name, show.shows);
    let node = workspace::target().join("debug/macronode");
    let tests = Invocation::cargo(&["test", "--package", "e2e", "--test", show.test, "--"])
        .args(["--nocapture", "--test-threads", "1"])
        .env("MACRONODE_BIN", node.to_string_lossy())
        .env("MACRONODE_TEST_RUNTIME", runtime);
    counted(&tests, &mut Tally::default()).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_shown_has_its_test() {
        for show in SHOWS {
            let file = format!("crates/e2e/tests/{}.rs", show.test);
            assert!(workspace::root().join(&file).is_file(), "{file}");
            assert!(list().contains(show.name));
        }
    }
}
