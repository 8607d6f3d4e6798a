//! Memory that runs out: requests are turned away before the system ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

/// Above so many hundredths of what the process may have, nobody is let in.
const FULL: u64 = 90;
/// Where control groups say what they allow.
const GROUPS: &str = "/sys/fs/cgroup";

/// Whether memory is short, as it was last seen.
#[derive(Default)]
pub(crate) struct Pressure(AtomicBool);

impl Pressure {
    pub(crate) fn is_high(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Looks at what the process has. `limit` is what it may have; 0 means what its control group allows, if that
    /// allows less than all. Reads files that are in memory.
    pub(crate) fn look(&self, limit: u64) {
        let limit = match limit {
            0 => allowed().unwrap_or(u64::MAX),
            limit => limit,
        };
        let high = resident().is_some_and(|has| is_full(has, limit));
        if self.0.swap(high, Ordering::Relaxed) != high {
            match high {
                true => tracing::error!(limit, "memory runs out; requests are turned away"),
                false => tracing::info!("there is memory again"),
            }
        }
    }
}

fn is_full(has: u64, limit: u64) -> bool {
    has > limit / 100 * FULL
}

/// Bytes of memory this process has.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// What the tightest control group allows, where one does.
fn allowed() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let groups = std::path::Path::new(own).ancestors();
    let limits = groups.filter_map(|group| {
        let file = std::path::Path::new(GROUPS).join(group).join("memory.max");
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: ED-09
    // attack: J-08
    #[test]
    fn memory_is_short_before_it_has_run_out_and_not_for_good() {
        assert!(!is_full(89, 100) && !is_full(90, 100));
        assert!(is_full(91, 100) && is_full(u64::MAX, 100));
        assert!(!is_full(1 << 40, u64::MAX));
        let pressure = Pressure::default();
        assert!(resident().is_some_and(|bytes| bytes > 100_000));
        pressure.look(1_000_000);
        assert!(pressure.is_high());
        pressure.look(1 << 50);
        assert!(!pressure.is_high());
    }
}
