//! Rules for manifests and the lock file: lints are inherited, dependencies come from the public registry.

use super::{Fault, fault, line_faults};
use crate::workspace::{Source, is_member_manifest};

const PUBLIC_REGISTRY: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

pub(super) fn faults(source: &Source) -> Vec<Fault> {
    let mut faults: Vec<Fault> = line_faults(source, other_registry).collect();
    if is_member_manifest(&source.path) && !inherits_lints(&source.text) {
        faults.push(fault(
            source,
            0,
            "inherit the lints: [lints] workspace = true",
        ));
    }
    faults
}

/// A mirror in a committed file would bind every clone to one network.
fn other_registry(line: &str) -> Option<String> {
    let line = line.trim();
    let locked_elsewhere = line.starts_with("source = \"") && line != PUBLIC_REGISTRY;
    let address = ["registry = \"", "index = \"", "replace-with"]
        .iter()
        .any(|key| line.contains(key));
    let redirected = line.starts_with("[source.")
        || (address && (line.contains("://") || line.contains("replace")));
    (locked_elsewhere || redirected)
        .then(|| "dependencies come from the public registry only".to_owned())
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[lints]")
        .skip(1);
    lines
        .find(|line| !line.is_empty())
        .is_some_and(|line| line == "workspace = true")
}
