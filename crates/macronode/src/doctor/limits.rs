//! Do the limits of this process and of the kernel leave room for what the config allows?

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use kernel::limits::BACKLOG;

use super::finding::Finding;
use super::{directory_of, read_line};
use crate::config::NodeText;
use crate::files::FileLimits;

/// Descriptors beside connections: listeners, epoll, logs, files, connections to others.
const SPARE_FILES: u64 = 128;
/// Below this many inotify instances a user, a machine with a few daemons runs out.
const INSTANCES_MIN: u64 = 16;
/// Below this many inotify watches a user, likewise.
const WATCHES_MIN: u64 = 64;

/// The node itself takes one instance and one watch, and only for a config file.
pub(super) fn findings(text: &NodeText, config: Option<&Path>) -> Vec<Finding> {
    let needed = files_needed(text);
    let number = |path| read_line(path)?.parse().ok();
    let mut findings = vec![
        match FileLimits::read() {
            Ok(limits) => open_files(limits, needed),
            Err(error) => Finding::note("open files", format!("cannot be read: {error}")),
        },
        backlog(number("/proc/sys/net/core/somaxconn")),
    ];
    if let Some(config) = config {
        let instances = number("/proc/sys/fs/inotify/max_user_instances");
        let watches = number("/proc/sys/fs/inotify/max_user_watches");
        findings.push(file_watch(watch(directory_of(config)), instances, watches));
    }
    findings
}

/// What the node may have open at once.
fn files_needed(text: &NodeText) -> u64 {
    let demo = text.demo.as_ref().map_or(0, |demo| demo.max_connections);
    (text.admin.max_connections + demo) as u64 + SPARE_FILES
}

/// The node raises its soft limit at start, so the hard one decides.
fn open_files(FileLimits { hard, .. }: FileLimits, needed: u64) -> Finding {
    const WHAT: &str = "open files";
    let said = format!("{} may be open, {needed} needed", shown(hard));
    if hard >= needed {
        return Finding::fine(WHAT, said);
    }
    let remedy = format!(
        "LimitNOFILE={needed} in the systemd unit, `nofile` in /etc/security/limits.conf, or fewer max_connections"
    );
    Finding::fault(WHAT, said, remedy)
}

fn shown(limit: u64) -> String {
    match limit {
        libc::RLIM_INFINITY => "any number".to_owned(),
        limit => limit.to_string(),
    }
}

fn backlog(somaxconn: Option<u64>) -> Finding {
    const WHAT: &str = "accept backlog";
    match somaxconn {
        None => Finding::note(WHAT, "cannot be read from /proc/sys/net/core/somaxconn"),
        Some(allowed) if allowed >= BACKLOG.into() => {
            Finding::fine(WHAT, format!("{allowed} allowed, {BACKLOG} used"))
        }
        Some(allowed) => Finding::warn(
            WHAT,
            format!("{allowed} allowed, {BACKLOG} wanted: bursts of new connections are cut"),
            format!(
                "`sysctl -w net.core.somaxconn={BACKLOG}`, and the same line in /etc/sysctl.d/ to keep it"
            ),
        ),
    }
}

/// Watches `directory` for a moment.
fn watch(directory: &Path) -> io::Result<()> {
    let path = CString::new(directory.as_os_str().as_bytes())?;
    // SAFETY: inotify_init1(2) takes flags only.
    let instance = unsafe { libc::inotify_init1(libc::IN_CLOEXEC) };
    if instance < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and nobody else has it.
    let instance = unsafe { OwnedFd::from_raw_fd(instance) };
    // SAFETY: the descriptor is open and the path ends with a NUL, both for the whole call.
    match unsafe { libc::inotify_add_watch(instance.as_raw_fd(), path.as_ptr(), libc::IN_MODIFY) } {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn file_watch(tried: io::Result<()>, instances: Option<u64>, watches: Option<u64>) -> Finding {
    const WHAT: &str = "config watch";
    const REMEDY: &str = "`sysctl -w fs.inotify.max_user_instances=128 fs.inotify.max_user_watches=8192`; \
                          until then reload with `macronode reload` or SIGHUP";
    if let Err(error) = tried {
        let remedy = match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENOSPC) => REMEDY,
            _ => {
                "let the node's user read the config's directory; until then reload with `macronode reload` or SIGHUP"
            }
        };
        let said = format!("the config's directory cannot be watched: {error}");
        return Finding::warn(WHAT, said, remedy);
    }
    let low = |limit: Option<u64>, min| limit.is_some_and(|limit| limit < min);
    let number = |limit: Option<u64>| limit.map_or("?".to_owned(), |limit| limit.to_string());
    let limits = format!(
        "{} inotify instances and {} watches a user",
        number(instances),
        number(watches)
    );
    match low(instances, INSTANCES_MIN) || low(watches, WATCHES_MIN) {
        true => Finding::warn(WHAT, format!("works, but only {limits}"), REMEDY),
        false => Finding::fine(WHAT, format!("works, {limits}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    fn files(soft: u64, hard: u64) -> Finding {
        open_files(FileLimits { soft, hard }, 1000)
    }

    // req: ND-01
    #[test]
    fn the_hard_limit_decides_because_the_soft_one_is_raised() {
        assert_eq!(files(10, 1000).verdict, Verdict::Fine);
        let low = files(999, 999);
        assert_eq!(low.verdict, Verdict::Fault);
        assert!(low.remedy.unwrap().contains("LimitNOFILE=1000"));
    }

    #[test]
    fn no_limit_on_files_is_enough() {
        let found = files(libc::RLIM_INFINITY, libc::RLIM_INFINITY);
        assert_eq!(found.verdict, Verdict::Fine);
        assert!(found.said.starts_with("any number"), "{}", found.said);
    }

    #[test]
    fn every_door_counts_for_the_files_needed() {
        let mut text = NodeText::default();
        text.admin.max_connections = 10;
        assert_eq!(files_needed(&text), 10 + SPARE_FILES);
        text.demo.get_or_insert_default().max_connections = 300;
        assert_eq!(files_needed(&text), 310 + SPARE_FILES);
    }

    #[test]
    fn this_process_has_a_limit_on_files() {
        let limits = FileLimits::read().unwrap();
        assert!(0 < limits.soft && limits.soft <= limits.hard, "{limits:?}");
    }

    #[test]
    fn a_short_backlog_is_a_warning() {
        let verdict = |allowed| backlog(allowed).verdict;
        assert_eq!(verdict(Some(1024)), Verdict::Fine);
        assert_eq!(verdict(Some(1023)), Verdict::Warn);
        assert_eq!(verdict(None), Verdict::Note);
    }

    #[test]
    fn few_watches_are_a_warning() {
        let verdict = |instances, watches| file_watch(Ok(()), instances, watches).verdict;
        assert_eq!(verdict(Some(128), Some(8192)), Verdict::Fine);
        assert_eq!(verdict(None, None), Verdict::Fine);
        assert_eq!(verdict(Some(2), Some(8192)), Verdict::Warn);
        assert_eq!(verdict(Some(128), Some(1)), Verdict::Warn);
    }

    #[test]
    fn a_watch_that_fails_is_a_warning_with_the_remedy_for_its_cause() {
        let failed = |errno| {
            file_watch(
                Err(io::Error::from_raw_os_error(errno)),
                Some(128),
                Some(8192),
            )
        };
        let used_up = failed(libc::EMFILE);
        assert_eq!(used_up.verdict, Verdict::Warn);
        assert!(used_up.remedy.unwrap().contains("max_user_instances"));
        assert!(failed(libc::EACCES).remedy.unwrap().contains("directory"));
    }

    #[test]
    fn watching_is_really_tried() {
        let directory = tempfile::tempdir().unwrap();
        watch(directory.path()).unwrap();
        let missing = watch(&directory.path().join("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
