//! What the kernel is and what it can do.

use std::io;

use super::finding::Finding;
use super::read_line;

/// The oldest kernel the node is meant for.
const OLDEST: (u32, u32) = (5, 10);

pub(super) fn findings() -> Vec<Finding> {
    let release = read_line("/proc/sys/kernel/osrelease");
    vec![
        version(&release.unwrap_or_default()),
        landlock(landlock_abi()),
    ]
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

/// The version of Landlock's interface.
fn landlock_abi() -> io::Result<i64> {
    const VERSION: u32 = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: landlock_create_ruleset(2) asked for its version takes no memory and makes no descriptor.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    match abi {
        ..0 => Err(io::Error::last_os_error()),
        abi => Ok(abi),
    }
}

/// Nothing of the node needs it yet, so its absence is worth knowing and no more.
fn landlock(abi: io::Result<i64>) -> Finding {
    const WHAT: &str = "landlock";
    let error = match abi {
        Ok(abi) => return Finding::fine(WHAT, format!("interface {abi}")),
        Err(error) => error,
    };
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "not built into this kernel".to_owned(),
        Some(libc::EOPNOTSUPP) => {
            "switched off; `lsm=landlock,…` at boot switches it on".to_owned()
        }
        _ => error.to_string(),
    };
    Finding::note(WHAT, format!("{why} (the node does without)"))
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

    #[test]
    fn missing_landlock_says_why() {
        assert_eq!(landlock(Ok(4)).verdict, Verdict::Fine);
        let missing = |errno| landlock(Err(io::Error::from_raw_os_error(errno)));
        assert_eq!(missing(libc::ENOSYS).verdict, Verdict::Note);
        assert!(missing(libc::ENOSYS).said.contains("not built"));
        assert!(missing(libc::EOPNOTSUPP).said.contains("boot"));
        assert!(missing(libc::EPERM).said.contains("not permitted"));
    }
}
