//! Watches the directory of the config file: editors and orchestrators replace files rather than write them.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::ReloadRequests;

/// Asks for a reload whenever `file` may have changed, for as long as the watcher lives.
pub(super) fn watch(file: &Path, requests: ReloadRequests) -> io::Result<RecommendedWatcher> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = file.file_name().map(OsString::from).unwrap_or_default();
    let handler = move |event: notify::Result<Event>| match event {
        Ok(event) if concerns(&event, &name) => requests.request(),
        Ok(_) => {}
        // Events were lost: look rather than guess.
        Err(_) => requests.request(),
    };
    let mut watcher = notify::recommended_watcher(handler).map_err(io::Error::other)?;
    watcher
        .watch(directory, RecursiveMode::NonRecursive)
        .map_err(io::Error::other)?;
    Ok(watcher)
}

/// The file itself, or one of the `..` links by which Kubernetes swaps whole directories.
fn concerns(event: &Event, name: &OsString) -> bool {
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    event
        .paths
        .iter()
        .filter_map(|path| path.file_name())
        .any(|changed| changed == name || changed.to_string_lossy().starts_with(".."))
}
