//! `bench` and `soak`: measure release builds, through the bench binary.

use crate::Outcome;
use crate::args::Args;
use crate::shell::Invocation;
use crate::tools;

/// Benchmarks that run other servers beside ours.
const MEASURED_BESIDE_PEERS: &[&str] = &["proxy", "edge", "overload"];

/// Without a name, the list of what can be measured.
pub(crate) fn bench(args: Args) -> Outcome {
    let mut words = args.rest();
    if words.is_empty() {
        words.push("--list".to_owned());
    }
    if words
        .iter()
        .any(|word| MEASURED_BESIDE_PEERS.contains(&word.as_str()))
    {
        tools::offer(tools::PEERS);
    }
    measure(words)
}

/// Fails when something grew or a request was lost.
pub(crate) fn soak(args: Args) -> Outcome {
    let mut words = vec!["soak".to_owned()];
    words.extend(args.rest());
    measure(words)
}

fn measure(words: Vec<String>) -> Outcome {
    Invocation::cargo(&["run", "--release", "--package", "bench", "--"])
        .args(words)
        .run()
}
