//! Are the clocks plausible, fine enough and cheap to read?

use std::io;
use std::time::Duration;

use super::finding::Finding;
use super::read_line;

/// 2024-01-01: no build of this program is older.
const EARLIEST: Duration = Duration::from_secs(1_704_067_200);
/// 2100-01-01: no build of this program is that old.
const LATEST: Duration = Duration::from_secs(4_102_444_800);
/// Timeouts are kept in milliseconds; a coarser clock would round them away.
const COARSEST: Duration = Duration::from_millis(1);
/// Clock sources that cannot be read without entering the kernel, or that tick with the scheduler.
const SLOW: [&str; 4] = ["jiffies", "refined-jiffies", "acpi_pm", "hpet"];

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";

pub(super) fn findings() -> Vec<Finding> {
    let source = read_line(format!("{SOURCES}/current_clocksource"));
    let others = read_line(format!("{SOURCES}/available_clocksource"));
    vec![
        wall(kernel::clock::unix_time()),
        synchronised(kernel_status()),
        resolution(monotonic_resolution()),
        clock_source(source.as_deref(), &others.unwrap_or_default()),
    ]
}

fn wall(since_1970: Duration) -> Finding {
    const WHAT: &str = "wall clock";
    const YEAR: u64 = 31_556_952;
    let year = 1970 + since_1970.as_secs() / YEAR;
    match (EARLIEST..LATEST).contains(&since_1970) {
        true => Finding::fine(WHAT, format!("plausible, in {year}")),
        false => Finding::fault(
            WHAT,
            format!("says it is about {year}: logs lie and certificates fail"),
            "set it with `timedatectl set-time`, and keep it right with chrony or systemd-timesyncd",
        ),
    }
}

/// The kernel's STA_ bits about the wall clock.
fn kernel_status() -> io::Result<i32> {
    // SAFETY: timex is made of integers, for which zero is a value; zero modes change nothing.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: adjtimex(2) writes one timex, to which the pointer is valid for the whole call.
    match unsafe { libc::adjtimex(&mut state) } {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(state.status),
    }
}

fn synchronised(status: io::Result<i32>) -> Finding {
    const WHAT: &str = "clock sync";
    match status {
        Err(error) => Finding::note(WHAT, format!("the kernel does not say: {error}")),
        Ok(status) if status & libc::STA_UNSYNC == 0 => {
            Finding::fine(WHAT, "the wall clock is synchronised")
        }
        Ok(_) => Finding::warn(
            WHAT,
            "the wall clock is not synchronised; it decides when tokens, passports and certificates expire and when an \
             X-Request-Deadline has passed, and logs and traces drift with it",
            "run chrony or systemd-timesyncd: `timedatectl set-ntp true`",
        ),
    }
}

fn monotonic_resolution() -> io::Result<Duration> {
    let mut step = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: clock_getres(2) writes one timespec, to which the pointer is valid for the whole call.
    match unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut step) } {
        0 => Ok(Duration::new(step.tv_sec as u64, step.tv_nsec as u32)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn resolution(step: io::Result<Duration>) -> Finding {
    const WHAT: &str = "clock steps";
    match step {
        Err(error) => Finding::note(WHAT, format!("cannot be read: {error}")),
        Ok(step) if step <= COARSEST => Finding::fine(WHAT, format!("{step:?}")),
        Ok(step) => Finding::warn(
            WHAT,
            format!("{step:?}: timeouts are that inexact"),
            "boot with `highres=on`, or use a kernel with high-resolution timers",
        ),
    }
}

fn clock_source(current: Option<&str>, available: &str) -> Finding {
    const WHAT: &str = "clock source";
    let Some(current) = current else {
        return Finding::note(WHAT, format!("cannot be read from {SOURCES}"));
    };
    if !SLOW.contains(&current) {
        return Finding::fine(WHAT, current);
    }
    let better = available
        .split_whitespace()
        .find(|source| !SLOW.contains(source));
    let remedy = match better {
        Some(better) => format!(
            "`echo {better} > {SOURCES}/current_clocksource`, or boot with `clocksource={better}`"
        ),
        None => {
            "let the hypervisor or firmware offer a better one (tsc, kvm-clock, arch_sys_counter)"
                .to_owned()
        }
    };
    Finding::warn(
        WHAT,
        format!("{current}: every look at the clock is slow"),
        remedy,
    )
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    // req: ND-01
    #[test]
    fn a_clock_of_another_time_is_a_fault() {
        let verdict = |seconds| wall(Duration::from_secs(seconds)).verdict;
        assert_eq!(verdict(0), Verdict::Fault);
        assert_eq!(verdict(1_704_067_199), Verdict::Fault);
        assert_eq!(verdict(1_704_067_200), Verdict::Fine);
        assert_eq!(verdict(4_102_444_800), Verdict::Fault);
    }

    #[test]
    fn the_year_is_told() {
        assert!(wall(Duration::ZERO).said.contains("1970"));
        assert!(
            wall(Duration::from_secs(1_750_000_000))
                .said
                .contains("2025")
        );
    }

    #[test]
    fn a_clock_nobody_keeps_right_is_a_warning() {
        assert_eq!(synchronised(Ok(0)).verdict, Verdict::Fine);
        assert_eq!(
            synchronised(Ok(libc::STA_UNSYNC | 1)).verdict,
            Verdict::Warn
        );
        let refused = io::Error::from_raw_os_error(libc::EPERM);
        assert_eq!(synchronised(Err(refused)).verdict, Verdict::Note);
    }

    #[test]
    fn a_coarse_clock_is_a_warning() {
        let verdict = |step| resolution(Ok(step)).verdict;
        assert_eq!(verdict(Duration::from_nanos(1)), Verdict::Fine);
        assert_eq!(verdict(Duration::from_millis(1)), Verdict::Fine);
        assert_eq!(verdict(Duration::from_millis(4)), Verdict::Warn);
        let refused = io::Error::from_raw_os_error(libc::EINVAL);
        assert_eq!(resolution(Err(refused)).verdict, Verdict::Note);
    }

    #[test]
    fn the_monotonic_clock_has_steps() {
        assert!(!monotonic_resolution().unwrap().is_zero());
    }

    #[test]
    fn a_slow_source_is_a_warning_that_names_a_better_one() {
        assert_eq!(clock_source(Some("tsc"), "tsc").verdict, Verdict::Fine);
        assert_eq!(clock_source(None, "").verdict, Verdict::Note);
        let slow = clock_source(Some("acpi_pm"), "hpet tsc acpi_pm");
        assert_eq!(slow.verdict, Verdict::Warn);
        assert!(slow.remedy.unwrap().contains("clocksource=tsc"));
        let only = clock_source(Some("jiffies"), "jiffies");
        assert!(only.remedy.unwrap().contains("hypervisor"));
    }
}
