//! Where things lie: the root, the target directory, and the files that belong to the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the checkout. Asked of cargo at run time: a path compiled in would be wrong after the checkout moves.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    manifest
        .and_then(|dir| dir.parent().map(Path::to_path_buf))
        .unwrap_or_else(|| PathBuf::from("."))
}

pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// A text file of the repository, with its path from the root.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Every file git tracks or would track, by its path from the root; build products are left out.
pub(crate) fn files() -> Result<Vec<String>, String> {
    let listing = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output()
        .map_err(|error| format!("git could not be started: {error}"))?;
    if !listing.status.success() {
        return Err(format!(
            "git ls-files failed: {}",
            String::from_utf8_lossy(&listing.stderr).trim()
        ));
    }
    let names = String::from_utf8_lossy(&listing.stdout);
    let paths = names.split('\0').filter(|path| !path.is_empty());
    let mut paths: Vec<String> = paths.map(str::to_owned).collect();
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

/// Every text file among them.
pub(crate) fn sources() -> Result<Vec<Source>, String> {
    let root = root();
    // A file deleted but not yet committed is still listed, and a binary file is not UTF-8: neither can be read here.
    let readable = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let source = |path: String| readable(&path).map(|text| Source { path, text });
    Ok(files()?.into_iter().filter_map(source).collect())
}

/// The manifests of the members.
pub(crate) fn manifests() -> Result<Vec<Source>, String> {
    Ok(sources()?
        .into_iter()
        .filter(|source| is_member_manifest(&source.path))
        .collect())
}

pub(crate) fn is_member_manifest(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    matches!(
        parts.as_slice(),
        ["xtask", "Cargo.toml"] | ["crates", _, "Cargo.toml"]
    )
}

#[cfg(test)]
mod tests {
    use super::is_member_manifest;

    #[test]
    fn only_members_have_member_manifests() {
        assert!(is_member_manifest("crates/kernel/Cargo.toml"));
        assert!(is_member_manifest("xtask/Cargo.toml"));
        assert!(!is_member_manifest("Cargo.toml"));
        assert!(!is_member_manifest("fuzz/Cargo.toml"));
        assert!(!is_member_manifest("crates/kernel/src/Cargo.toml"));
    }
}
