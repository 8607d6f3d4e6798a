//! `bench` and `soak`: measure release builds, through the bench binary.

use std::path::PathBuf;

use crate::Outcome;
use crate::args::Args;
use crate::instructions;
use crate::release;
use crate::shell::Invocation;
use crate::tools;
use crate::workspace;

/// Benchmarks that run other servers beside ours.
const MEASURED_BESIDE_PEERS: &[&str] = &[
    "proxy", "tls", "h2", "edge", "fill", "overload", "sweep", "fairness", "drain", "reload",
    "startup", "memory",
];
/// Those that run ours alone, in a process of its own.
const MEASURED_ALONE: &[&str] = &[
    "scaling",
    "runtimes",
    "siege",
    "node",
    "admission",
    "progress",
];
/// Options that are followed by a word of their own.
const VALUED: &[&str] = &["--only", "--against", "--compare", "--before"];

/// Without a name, all of them.
pub(crate) fn bench(mut args: Args) -> Outcome {
    let is_plain = args.flag("--plain");
    let mut words = args.rest();
    if name(&words) == Some("instructions") {
        words.retain(|word| word != "instructions");
        return instructions::run(Args::new(words));
    }
    if needs_peers(&words) {
        tools::offer(tools::PEERS);
    }
    if is_plain || !needs_the_node(&words) || std::env::var_os("MACRONODE_BIN").is_some() {
        return measure(words, None);
    }
    match release::trained() {
        Ok(program) => measure(words, Some(program)),
        Err(reason) => {
            println!("measured as `cargo build --release` makes it: {reason}");
            measure(words, None)
        }
    }
}

/// Fails when something grew or a request was lost. The node's workers are killed, so it is one that can be told to.
pub(crate) fn soak(args: Args) -> Outcome {
    let node = ["build", "--release", "--package", "macronode"];
    Invocation::cargo(&node)
        .args(["--features", "chaos"])
        .run()?;
    let node = workspace::target().join("release/macronode");
    Invocation::cargo(&["run", "--release", "--package", "bench", "--", "soak"])
        .args(args.rest())
        .env("MACRONODE_BIN", node.to_string_lossy())
        .run()
}

/// Whether what is asked for can use the servers of others; a comparison of files and a list cannot.
fn needs_peers(words: &[String]) -> bool {
    let has = |option: &str| words.iter().any(|word| word.starts_with(option));
    match name(words) {
        Some(name) => MEASURED_BESIDE_PEERS.contains(&name) || has("--profile"),
        None => !has("--list") && !has("--compare"),
    }
}

fn needs_the_node(words: &[String]) -> bool {
    needs_peers(words) || name(words).is_some_and(|name| MEASURED_ALONE.contains(&name))
}

fn name(words: &[String]) -> Option<&str> {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if VALUED.contains(&word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// With this build of ours, or else a plain one.
fn measure(words: Vec<String>, node: Option<PathBuf>) -> Outcome {
    let bench = Invocation::cargo(&["run", "--release", "--package", "bench", "--"]).args(words);
    match node {
        Some(node) => bench.env("MACRONODE_BIN", node.to_string_lossy()).run(),
        None => bench.run(),
    }
}

#[cfg(test)]
mod tests {
    use super::{name, needs_peers, needs_the_node};

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_value_is_no_name() {
        assert_eq!(name(&words("--only proxy --quick")), None);
        assert_eq!(name(&words("--only=s1 overload --quick")), Some("overload"));
    }

    #[test]
    fn peers_are_installed_for_who_measures_beside_them_only() {
        for line in ["", "--quick", "proxy", "--quick drain", "queue --profile"] {
            assert!(needs_peers(&words(line)), "{line}");
        }
        for line in ["--list", "queue", "page", "report", "--compare old.json"] {
            assert!(
                !needs_peers(&words(line)) && !needs_the_node(&words(line)),
                "{line}"
            );
        }
        assert!(needs_the_node(&words("siege --quick")) && !needs_peers(&words("siege --quick")));
    }
}
