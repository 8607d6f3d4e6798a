//! What the control group leaves of the machine's memory and cores.

use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::read_line;
use crate::config::RuntimeKind;

const MIB: u64 = 1024 * 1024;
/// Less than this leaves no room for connections.
const MEMORY_MIN: u64 = 64 * MIB;
/// Where the second version of control groups is mounted, alone or beside the first.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];

pub(super) fn findings(runtime: RuntimeKind) -> Vec<Finding> {
    let own = read_line("/proc/self/cgroup").unwrap_or_default();
    let mount = MOUNTS
        .iter()
        .map(Path::new)
        .find(|mount| mount.join("cgroup.procs").exists());
    let groups = mount.map(|mount| groups(mount, &own)).unwrap_or_default();
    let read = |file: &str| -> Vec<String> {
        let files = groups.iter().map(|group| group.join(file));
        files.filter_map(read_line).collect()
    };
    vec![memory(&read("memory.max")), cpu(&read("cpu.max"), runtime)]
}

/// The group of this process and all above it: the tightest of them counts.
fn groups(mount: &Path, own: &str) -> Vec<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
    let Some(path) = path else { return Vec::new() };
    // A group outside of this namespace begins with `..` and cannot be looked at.
    Path::new(path)
        .ancestors()
        .filter(|above| !above.starts_with(".."))
        .map(|above| mount.join(above))
        .collect()
}

fn memory(limits: &[String]) -> Finding {
    const WHAT: &str = "memory limit";
    if limits.is_empty() {
        return Finding::note(
            WHAT,
            "none to be seen: no memory.max of a control group (v2)",
        );
    }
    let tightest: Option<u64> = limits.iter().filter_map(|limit| limit.parse().ok()).min();
    match tightest {
        None => Finding::fine(WHAT, "none"),
        Some(bytes) if bytes >= MEMORY_MIN => Finding::fine(WHAT, format!("{} MiB", bytes / MIB)),
        Some(bytes) => Finding::warn(
            WHAT,
            format!(
                "{} MiB: the kernel may kill the node under load",
                bytes / MIB
            ),
            format!(
                "allow at least {} MiB: MemoryMax= in the systemd unit, or the container's memory limit",
                MEMORY_MIN / MIB
            ),
        ),
    }
}

fn cpu(limits: &[String], runtime: RuntimeKind) -> Finding {
    const WHAT: &str = "cpu quota";
    if limits.is_empty() {
        return Finding::note(WHAT, "none to be seen: no cpu.max of a control group (v2)");
    }
    match limits
        .iter()
        .filter_map(|limit| cores(limit))
        .reduce(f64::min)
    {
        None => Finding::fine(WHAT, "none"),
        Some(cores) if cores < 1.0 && runtime == RuntimeKind::Multi => Finding::note(
            WHAT,
            format!(
                "{cores:.2} cores: threads only wait for one another, `--runtime single` is faster"
            ),
        ),
        Some(cores) => Finding::fine(WHAT, format!("{cores:.2} cores")),
    }
}

/// `50000 100000` are microseconds of microseconds: half a core; `max 100000` is no limit.
fn cores(limit: &str) -> Option<f64> {
    let (quota, period) = limit.split_once(' ')?;
    let (quota, period): (u32, u32) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0).then(|| f64::from(quota) / f64::from(period))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    fn lines(limits: &[&str]) -> Vec<String> {
        limits.iter().map(|limit| (*limit).to_owned()).collect()
    }

    // req: ND-01
    #[test]
    fn little_memory_is_a_warning() {
        let verdict = |limits: &[&str]| memory(&lines(limits)).verdict;
        assert_eq!(verdict(&["max"]), Verdict::Fine);
        assert_eq!(verdict(&["67108864"]), Verdict::Fine);
        assert_eq!(verdict(&["67108863"]), Verdict::Warn);
        assert_eq!(verdict(&[]), Verdict::Note);
    }

    #[test]
    fn the_tightest_group_counts() {
        let found = memory(&lines(&["max", "1048576", "1073741824"]));
        assert!(found.said.starts_with("1 MiB"), "{}", found.said);
        let found = cpu(
            &lines(&["400000 100000", "max 100000", "150000 100000"]),
            RuntimeKind::Multi,
        );
        assert_eq!(found.said, "1.50 cores");
    }

    #[test]
    fn part_of_a_core_is_worth_knowing_for_many_threads() {
        let verdict = |limit: &str, runtime| cpu(&lines(&[limit]), runtime).verdict;
        assert_eq!(verdict("50000 100000", RuntimeKind::Multi), Verdict::Note);
        assert_eq!(verdict("50000 100000", RuntimeKind::Single), Verdict::Fine);
        assert_eq!(verdict("100000 100000", RuntimeKind::Multi), Verdict::Fine);
        assert_eq!(verdict("max 100000", RuntimeKind::Multi), Verdict::Fine);
        assert_eq!(cpu(&[], RuntimeKind::Multi).verdict, Verdict::Note);
    }

    #[test]
    fn a_quota_that_makes_no_sense_is_none() {
        for limit in ["", "max", "1", "-1 100000", "1 0", "a b"] {
            assert_eq!(cores(limit), None, "{limit}");
        }
    }

    #[test]
    fn the_groups_above_are_looked_at_too() {
        let groups = |own| groups(Path::new("/m"), own);
        let paths: Vec<_> = ["/m/a/b", "/m/a", "/m"].map(PathBuf::from).into();
        assert_eq!(groups("4:memory:/x\n0::/a/b\n"), paths);
        assert_eq!(groups("0::/\n"), [PathBuf::from("/m")]);
        assert_eq!(groups("0::/../x\n"), [PathBuf::from("/m")]);
        assert_eq!(groups("4:memory:/x\n"), Vec::<PathBuf>::new());
    }
}
