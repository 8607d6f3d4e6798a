//! `bench`: measures release builds, through the bench binary.

use crate::Outcome;
use crate::args::Args;
use crate::shell::Invocation;

/// Without a name the binary lists its benches.
pub(crate) fn bench(args: Args) -> Outcome {
    bench_binary(args.rest()).run()
}

fn bench_binary(args: Vec<String>) -> Invocation {
    Invocation::cargo(&["run", "--release", "--package", "bench", "--"]).args(args)
}
