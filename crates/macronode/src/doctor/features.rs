//! What the kernel is and what it can do.

use std::io;

use super::finding::Finding;
use super::read_line;
use crate::amnesia::landlock;
use crate::config::{Enforcement, NodeText};

/// The oldest kernel the node is meant for.
const OLDEST: (u32, u32) = (5, 10);

pub(super) fn findings(text: &NodeText) -> Vec<Finding> {
    let release = read_line("/proc/sys/kernel/osrelease");
    let mut findings = vec![
        version(&release.unwrap_or_default()),
        landlock(landlock::interface(), text),
    ];
    if text.amnesia {
        let areas = std::fs::read_to_string("/proc/swaps").ok();
        findings.push(swap(areas.as_deref()));
    }
    findings
}

fn version(release: &str) -> Finding {
    const WHAT: &str = "kernel";
    match parse(release) {
        None => Finding::note(WHAT, format!("its version makes no sense: `{release}`")),
        Some(version) if version >= OLDEST => Finding::fine(WHAT, release),
        Some(_) => Finding::warn(
            WHAT,
            format!("{release} is older than what the node is meant for"),
            format!("use {}.{} or newer", OLDEST.0, OLDEST.1),
        ),
    }
}

/// `6.1.0-13-amd64` is 6.1.
fn parse(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// What enforces amnesia: a fault where that is asked for, else worth knowing and no more.
fn landlock(interface: io::Result<i64>, text: &NodeText) -> Finding {
    const WHAT: &str = "landlock";
    let (said, whole) = match interface {
        Ok(interface) => (
            format!("interface {interface}"),
            interface >= landlock::WHOLE,
        ),
        Err(error) => (landlock::reason(&error), false),
    };
    if whole {
        return Finding::fine(WHAT, format!("{said}: amnesia can be enforced"));
    }
    let said = format!("{said}: amnesia cannot be enforced");
    let remedy = "run Linux 6.2 or newer with landlock among its security modules";
    match (text.amnesia, text.amnesia_enforcement) {
        (false, _) => Finding::note(WHAT, said),
        (true, Enforcement::BestEffort) => Finding::warn(WHAT, said, remedy),
        (true, Enforcement::Strict) => Finding::fault(WHAT, said, remedy),
    }
}

/// What is in memory only may be put on a disk by the kernel.
fn swap(areas: Option<&str>) -> Finding {
    const WHAT: &str = "swap";
    // The first line is a heading.
    match areas.map(|areas| areas.lines().count().saturating_sub(1)) {
        None => Finding::note(WHAT, "whether there is any cannot be read"),
        Some(0) => Finding::fine(WHAT, "none: what is in memory stays there"),
        Some(_) => Finding::warn(
            WHAT,
            "there is some: under amnesia, what is in memory may still reach a disk",
            "`swapoff -a`, or MemorySwapMax=0 in the systemd unit",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    // req: ND-01
    #[test]
    fn an_old_kernel_is_a_warning() {
        let verdict = |release| version(release).verdict;
        assert_eq!(verdict("5.10.0"), Verdict::Fine);
        assert_eq!(verdict("6.1.0-13-amd64"), Verdict::Fine);
        assert_eq!(verdict("10.0"), Verdict::Fine);
        assert_eq!(verdict("5.9.16"), Verdict::Warn);
        assert_eq!(verdict("4.18.0-553.el8"), Verdict::Warn);
    }

    #[test]
    fn a_version_that_makes_no_sense_is_no_verdict() {
        for release in ["", "linux", "6", "6.x", "99999999999.1"] {
            assert_eq!(version(release).verdict, Verdict::Note, "{release}");
        }
    }

    // req: ND-05
    #[test]
    fn missing_landlock_is_as_bad_as_the_config_says() {
        let verdict = |interface: Result<i64, i32>, amnesia, amnesia_enforcement| {
            let text = NodeText {
                amnesia,
                amnesia_enforcement,
                ..NodeText::default()
            };
            landlock(interface.map_err(io::Error::from_raw_os_error), &text).verdict
        };
        for missing in [Ok(2), Err(libc::ENOSYS), Err(libc::EOPNOTSUPP)] {
            assert_eq!(verdict(missing, false, Enforcement::Strict), Verdict::Note);
            let less = verdict(missing, true, Enforcement::BestEffort);
            assert_eq!(less, Verdict::Warn);
            assert_eq!(verdict(missing, true, Enforcement::Strict), Verdict::Fault);
        }
        assert_eq!(verdict(Ok(3), true, Enforcement::Strict), Verdict::Fine);
        let gone = landlock(
            Err(io::Error::from_raw_os_error(libc::ENOSYS)),
            &NodeText::default(),
        );
        assert!(gone.said.contains("not built"), "{gone:?}");
    }

    // req: ND-05
    #[test]
    fn memory_that_may_be_swapped_out_is_a_warning() {
        const HEADING: &str = "Filename\tType\tSize\tUsed\tPriority\n";
        assert_eq!(swap(Some(HEADING)).verdict, Verdict::Fine);
        let some = format!("{HEADING}/dev/sda2 partition 1 0 -2\n");
        assert_eq!(swap(Some(&some)).verdict, Verdict::Warn);
        assert_eq!(swap(None).verdict, Verdict::Note);
    }
}
