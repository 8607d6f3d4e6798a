//! Packages of the npm registry, as the preview page's lock file has them, installed beside the build products.

use crate::shell::Invocation;
use crate::tools;
use crate::workspace;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the page and its manifest lie, from the root.
pub(crate) const PAGE: &str = "crates/svc-edge/preview";

/// The `node_modules` with exactly what the lock file says; nothing is fetched again while it does not change.
pub(crate) fn modules() -> Result<PathBuf, String> {
    tools::provide(tools::NODE)?;
    let (page, home) = (
        workspace::root().join(PAGE),
        workspace::target().join("npm"),
    );
    let modules = home.join("node_modules");
    let locked = text(&page.join("package-lock.json"))?;
    let installed = home.join("installed-lock.json");
    if modules.is_dir() && fs::read_to_string(&installed).is_ok_and(|lock| lock == locked) {
        return Ok(modules);
    }
    fs::create_dir_all(&home).map_err(|error| told(&home, &error))?;
    for name in ["package.json", "package-lock.json"] {
        let (from, to) = (page.join(name), home.join(name));
        fs::copy(&from, &to).map_err(|error| told(&from, &error))?;
    }
    // No package's own script runs: none that is used here needs one.
    Invocation::new(
        "npm",
        &["ci", "--ignore-scripts", "--no-audit", "--no-fund"],
    )
    .args(["--prefix", &home.to_string_lossy()])
    .run()?;
    fs::write(&installed, locked).map_err(|error| told(&installed, &error))?;
    Ok(modules)
}

fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| told(path, &error))
}

fn told(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
