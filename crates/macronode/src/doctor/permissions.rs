//! Who may read and write the config, and as whom the node would run.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use strict_config::{Loaded, Origin, reference};

use super::directory_of;
use super::finding::Finding;
use crate::config::NodeText;

/// Permission bits.
const OTHERS_READ: u32 = 0o004;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

pub(super) fn findings(config: Option<&Path>, loaded: Option<&Loaded<NodeText>>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(config) = config {
        let secrets = loaded.map(secrets_in_file);
        findings.push(match mode(config) {
            Ok(mode) => file(config, mode, secrets.as_deref()),
            Err(error) => Finding::note("config file", format!("cannot be looked at: {error}")),
        });
        let directories = directories(config);
        findings.extend(directories.iter().map(|path| match mode(path) {
            Ok(mode) => directory(path, mode),
            Err(error) => {
                Finding::note("config directory", format!("cannot be looked at: {error}"))
            }
        }));
    }
    // SAFETY: geteuid(2) takes nothing and cannot fail.
    findings.push(user(unsafe { libc::geteuid() }));
    findings
}

fn mode(path: &Path) -> io::Result<u32> {
    Ok(std::fs::metadata(path)?.mode())
}

/// The directory the config is named in, and the one it lies in when the name is a link.
fn directories(config: &Path) -> Vec<PathBuf> {
    let named = directory_of(config);
    let real = std::fs::canonicalize(config).map(|config| directory_of(&config).to_owned());
    match (real, std::fs::canonicalize(named)) {
        (Ok(real), Ok(same)) if real != same => vec![named.to_owned(), real],
        _ => vec![named.to_owned()],
    }
}

/// The secret keys whose values stand in the file rather than in the environment or on the command line.
fn secrets_in_file(loaded: &Loaded<NodeText>) -> Vec<String> {
    let secret: Vec<String> = reference::<NodeText>()
        .into_iter()
        .filter(|key| key.secret)
        .map(|key| key.path)
        .collect();
    let empty = |key: &str| {
        let pointer = format!("/{}", key.replace('.', "/"));
        loaded
            .document()
            .pointer(&pointer)
            .is_some_and(|value| value == "")
    };
    let written = loaded.origins().iter();
    written
        .filter(|(key, origin)| {
            matches!(origin, Origin::File { .. })
                && secret.iter().any(|pattern| covers(pattern, key))
                && !empty(key)
        })
        .map(|(key, _)| key.clone())
        .collect()
}

/// Whether `key` is one of those that the reference lists as `pattern`, with `<name>` for any name and
/// `[]` for any item. In doubt it is.
fn covers(pattern: &str, key: &str) -> bool {
    let pattern = pattern.replace("[]", "[<name>]");
    let mut parts = pattern.split("<name>");
    let Some(mut rest) = parts.next().and_then(|first| key.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// `secrets` is none where the file could not be understood.
fn file(path: &Path, mode: u32, secrets: Option<&[String]>) -> Finding {
    const WHAT: &str = "config file";
    let (bits, path) = (format!("{:03o}", mode & 0o7777), path.display());
    if mode & OTHERS_WRITE != 0 {
        let said = format!("mode {bits}: anyone on this machine can change it");
        return Finding::fault(WHAT, said, format!("`chmod o-w {path}`"));
    }
    match secrets {
        _ if mode & OTHERS_READ == 0 => Finding::fine(WHAT, format!("mode {bits}")),
        Some([]) => Finding::fine(WHAT, format!("mode {bits}, no secrets in it")),
        Some(keys) => Finding::warn(
            WHAT,
            format!(
                "mode {bits}: anyone on this machine can read {}",
                keys.join(", ")
            ),
            format!(
                "`chmod 600 {path}`, or set the secret in the environment; then replace it, it may be known"
            ),
        ),
        None => Finding::note(
            WHAT,
            format!("mode {bits}: anyone on this machine can read it, and it may hold a secret"),
        ),
    }
}

fn directory(path: &Path, mode: u32) -> Finding {
    const WHAT: &str = "config directory";
    let (bits, path) = (format!("{:03o}", mode & 0o7777), path.display());
    if mode & OTHERS_WRITE == 0 {
        return Finding::fine(WHAT, format!("{path}, mode {bits}"));
    }
    let remedy = format!("`chmod o-w {path}`, or move the config to a directory of its own");
    match mode & STICKY {
        0 => Finding::fault(
            WHAT,
            format!("{path}, mode {bits}: anyone can replace the config"),
            remedy,
        ),
        _ => Finding::warn(
            WHAT,
            format!("{path}, mode {bits}: anyone can put files beside the config"),
            remedy,
        ),
    }
}

fn user(id: u32) -> Finding {
    const WHAT: &str = "user";
    match id {
        0 => Finding::warn(
            WHAT,
            "root: whoever takes over the node has the machine",
            "run it as a user of its own (systemd: DynamicUser=yes); ports below 1024 need only \
             AmbientCapabilities=CAP_NET_BIND_SERVICE",
        ),
        id => Finding::fine(WHAT, format!("id {id}, not root")),
    }
}

#[cfg(test)]
mod tests;
