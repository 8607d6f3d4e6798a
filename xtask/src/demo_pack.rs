//! `demo-pack`: the demonstration pack made anew, from the package that carries Natural Earth's data.

use crate::Outcome;
use crate::args::Args;
use crate::npm;
use crate::shell::Invocation;

/// Where the pack lies, from the root.
pub(crate) const PACK: &str = "crates/svc-edge/demo/world.pmtiles";

pub(crate) fn run(args: Args) -> Outcome {
    args.finish()?;
    let data = npm::modules()?.join("world-atlas/countries-50m.json");
    Invocation::cargo(&["run", "--package", "demo-pack", "--"])
        .args([data.to_string_lossy().as_ref(), PACK])
        .run()
}
