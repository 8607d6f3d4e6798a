//! What an operation costs: in time passed, or in processor time where waiting would hide the work.

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// Which time is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time passed.
    Wall,
    /// Processor time of all threads of this process.
    Cpu,
}

impl Clock {
    /// Nanoseconds per operation of a run of `operations`.
    pub fn nanos_each(self, operations: usize, run: impl FnOnce()) -> f64 {
        let spent = match self {
            Self::Wall => {
                let start = Instant::now();
                run();
                start.elapsed()
            }
            Self::Cpu => {
                let start = process_time();
                run();
                process_time().saturating_sub(start)
            }
        };
        spent.as_nanos() as f64 / operations as f64
    }
}

fn process_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for one timespec, which the call fills when it succeeds.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr()) };
    assert_eq!(status, 0, "every Linux has a processor clock");
    // SAFETY: the call succeeded.
    let time = unsafe { time.assume_init() };
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_divide_the_time_of_the_work_by_its_operations() {
        let work = || {
            for number in 0..2_000_000_u64 {
                std::hint::black_box(number);
            }
        };
        for clock in [Clock::Wall, Clock::Cpu] {
            let whole = clock.nanos_each(1, work);
            assert!(
                whole > 100_000.0,
                "{clock:?} saw {whole} ns in two million steps"
            );
            assert!(clock.nanos_each(1_000_000, work) < whole / 1_000.0);
        }
    }

    #[test]
    fn waiting_takes_time() {
        let wait = || std::thread::sleep(Duration::from_millis(20));
        assert!(Clock::Wall.nanos_each(1, wait) >= 20e6);
    }
}
