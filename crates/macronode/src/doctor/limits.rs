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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needed {
    /// For all who may come in.
    doors: u64,
    /// For those too whom the node itself asks: a gateway that is full may ask as many as ask it.
    all: u64,
}

fn files_needed(text: &NodeText) -> Needed {
    let open = |doors: [bool; 2]| doors.into_iter().filter(|open| *open).count();
    let doors = |plain: bool, secure: bool, each: usize| open([plain, secure]) * each;
    let gateway = text.gateway.as_ref().map_or(0, |gateway| {
        let each = gateway.limits.connections;
        doors(!gateway.listen.is_empty(), gateway.tls.is_some(), each)
    });
    let edge = text.edge.as_ref().map_or(0, |edge| {
        let each = edge.limits.connections;
        doors(!edge.listen.is_empty(), edge.tls.is_some(), each)
    });
    let transport = text.transport.as_ref().map_or(0, |transport| {
        let each = transport.limits.connections;
        doors(!transport.listen.is_empty(), transport.tls.is_some(), each)
    });
    let overlay = text.overlay.as_ref().map_or(0, |overlay| {
        let each = overlay.limits.connections;
        doors(!overlay.listen.is_empty(), overlay.tls.is_some(), each)
    });
    let demo = text.demo.as_ref().map_or(0, |demo| demo.max_connections);
    let all_doors = gateway + edge + transport + overlay + demo + text.admin.max_connections;
    Needed {
        doors: all_doors as u64 + SPARE_FILES,
        all: (all_doors + gateway) as u64 + SPARE_FILES,
    }
}

/// The node raises its soft limit at start, so the hard one decides. Whom it asks itself it may ask over connections
/// that it keeps, so want of those is no fault yet.
fn open_files(FileLimits { hard, .. }: FileLimits, needed: Needed) -> Finding {
    const WHAT: &str = "open files";
    let all = needed.all;
    let said = format!("{} may be open, {all} needed", shown(hard));
    let remedy = format!(
        "LimitNOFILE={all} in the systemd unit, `nofile` in /etc/security/limits.conf, or fewer connections in the \
         config"
    );
    match hard {
        enough if enough >= all => Finding::fine(WHAT, said),
        short if short >= needed.doors => Finding::warn(WHAT, said, remedy),
        _ => Finding::fault(WHAT, said, remedy),
    }
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
        let needed = Needed {
            doors: 700,
            all: 1000,
        };
        open_files(FileLimits { soft, hard }, needed)
    }

    // req: ND-01
    #[test]
    fn the_hard_limit_decides_because_the_soft_one_is_raised() {
        assert_eq!(files(10, 1000).verdict, Verdict::Fine);
        assert_eq!(files(10, 999).verdict, Verdict::Warn);
        let low = files(699, 699);
        assert_eq!(low.verdict, Verdict::Fault);
        assert!(low.remedy.unwrap().contains("LimitNOFILE=1000"));
    }

    #[test]
    fn no_limit_on_files_is_enough() {
        let found = files(libc::RLIM_INFINITY, libc::RLIM_INFINITY);
        assert_eq!(found.verdict, Verdict::Fine);
        assert!(found.said.starts_with("any number"), "{}", found.said);
    }

    // req: ND-01
    #[test]
    fn every_door_counts_for_the_files_needed_and_the_gateways_twice() {
        let mut text = NodeText::default();
        let mut needs = |change: &dyn Fn(&mut NodeText), doors, all| {
            change(&mut text);
            let needed = files_needed(&text);
            assert_eq!(needed.doors, doors + SPARE_FILES);
            assert_eq!(needed.all, all + SPARE_FILES);
        };
        needs(&|text| text.admin.max_connections = 10, 10, 10);
        let demo = |text: &mut NodeText| text.demo.get_or_insert_default().max_connections = 300;
        needs(&demo, 310, 310);
        let gateway = |text: &mut NodeText| {
            text.gateway.get_or_insert_default().limits.connections = 16_000;
        };
        needs(&gateway, 16_310, 32_310);
        let edge = |text: &mut NodeText| {
            text.edge.get_or_insert_default().limits.connections = 1_000;
        };
        needs(&edge, 17_310, 33_310);
        let transport = |text: &mut NodeText| {
            text.transport.get_or_insert_default().limits.connections = 100;
        };
        needs(&transport, 17_410, 33_410);
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
