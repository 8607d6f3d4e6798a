//! `run`: builds the node and becomes it.

use crate::Outcome;
use crate::args::Args;
use crate::shell::Invocation;
use crate::workspace;

/// The dev profile: a newcomer waits least, and the dependencies are optimised there too.
pub(crate) fn run(args: Args) -> Outcome {
    eprintln!("building macronode (dev profile; the first time takes a few minutes) ...");
    Invocation::cargo(&["build", "--package", "macronode", "--bin", "macronode"]).run()?;
    let node = workspace::target().join("debug/macronode");
    let invocation = Invocation::new(&node.to_string_lossy(), &["run"]).args(args.rest());
    eprintln!("starting {invocation}; ctrl-c drains, ctrl-c again ends at once");
    Err(invocation.become_it())
}
