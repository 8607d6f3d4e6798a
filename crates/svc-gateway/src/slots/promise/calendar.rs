//! How many were told to come in each eighth of the seconds ahead.
//!
//! Clients are told whole seconds, so that those refused within a moment also come within one: a place in the future is
//! good only for who comes at that part of a second.

use std::time::Duration;

/// In milliseconds.
const BIN: u64 = 125;
const BINS: u64 = 512;
const PER_SECOND: u64 = 1_000 / BIN;
/// Nothing further ahead is written down.
pub(super) const SECONDS_MAX: u64 = BINS / PER_SECOND - 1;

/// What is ahead of a moment that moves on.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    told: Box<[u16]>,
    /// The bin of the last look.
    now: u64,
}

impl Calendar {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            told: vec![0; BINS as usize].into(),
            now: bin(now),
        }
    }

    /// The first of these seconds in which fewer than that many a second were told to come; takes it.
    pub(super) fn take(&mut self, now: Duration, from: u64, to: u64, per_s: f64) -> Option<u64> {
        self.turn(bin(now));
        let most = (per_s / PER_SECOND as f64).max(1.0) as u16;
        let to = to.min(SECONDS_MAX);
        let place = |seconds: u64| ((self.now + seconds * PER_SECOND) % BINS) as usize;
        let free = (from..=to).find(|seconds| self.told[place(*seconds)] < most)?;
        self.told[place(free)] += 1;
        Some(free)
    }

    fn turn(&mut self, now: u64) {
        let passed = now.saturating_sub(self.now).min(BINS);
        for gone in 0..passed {
            self.told[((self.now + gone) % BINS) as usize] = 0;
        }
        self.now = self.now.max(now);
    }
}

fn bin(now: Duration) -> u64 {
    now.as_millis() as u64 / BIN
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-07
    #[test]
    fn no_more_are_told_to_come_in_a_moment_than_are_served_in_it() {
        let now = Duration::from_secs(100);
        let mut calendar = Calendar::new(now);
        let mut take = |now| calendar.take(now, 2, 4, 16.0);
        let told: Vec<_> = (0..7).map(|_| take(now)).collect();
        let expected = [2, 2, 3, 3, 4, 4].map(Some);
        assert_eq!((&told[..6], told[6]), (&expected[..], None));
        let next = now + Duration::from_millis(BIN);
        assert_eq!(take(next), Some(2), "another part of the second");
        let later = now + Duration::from_secs(1);
        assert_eq!(take(later), Some(4), "two and three of it are given away");
        let much_later = now + Duration::from_secs(500);
        assert_eq!(take(much_later), Some(2));
    }
}
