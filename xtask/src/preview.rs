//! `preview`: the map preview page, tested and bundled into the files that the node carries.

use crate::Outcome;
use crate::args::Args;
use crate::npm;
use crate::shell::Invocation;

pub(crate) fn run(args: Args) -> Outcome {
    args.finish()?;
    let modules = npm::modules()?;
    let page = |path: &str| format!("{}/{path}", npm::PAGE);
    Invocation::new("node", &["--test"])
        .args([page("tests/")])
        .run()?;
    Invocation::new("node", &[])
        .args([page("build.mjs"), modules.to_string_lossy().into_owned()])
        .run()
}
