//! `browser`: the preview page and the raw packs of a running node, before the programs that people read them with.

use crate::Outcome;
use crate::args::Args;
use crate::demo_pack;
use crate::npm;
use crate::shell::Invocation;
use crate::tools;
use crate::workspace;

/// Pictures of what the browser drew are left in the target directory, to be looked at.
pub(crate) fn run(args: Args) -> Outcome {
    args.finish()?;
    let modules = npm::modules()?;
    tools::provide(tools::BROWSER)?;
    Invocation::cargo(&["build", "--package", "macronode", "--bin", "macronode"]).run()?;
    let node = workspace::target().join("debug/macronode");
    let pictures = workspace::target().join("browser");
    Invocation::new("node", &["--test", "--test-reporter=spec"])
        .args([format!("{}/browser/", npm::PAGE)])
        .env("MACRONODE_BIN", node.to_string_lossy())
        .env("MACRONODE_PACK", demo_pack::PACK)
        .env("MACRONODE_PICTURES", pictures.to_string_lossy())
        .env("NODE_PATH", modules.to_string_lossy())
        .run()
}
