//! What is known of one tenant at an upstream, without locks: a lost race loses one sample.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Who is given all of its share may ask no more often than it is served: less is less than this part of it.
const CLEARLY_LESS: f64 = 0.75;
/// How many gaps between requests are averaged, and how much longer than they are one may count: who comes back after
/// hours asks for as much as it did before.
const GAPS: u32 = 32;
const GAP_FACTOR: u32 = 4;
const GAP_LEAST_US: u32 = 1_000;
/// No clock is read earlier than this before it is looked at.
const OVERTAKEN_US: u32 = 10_000_000;
/// Parts of an ordinary request in which is counted what others cost more, and how few of them are none.
const DEARER_UNIT: u32 = 64;
const DEARER_LEAST: u32 = 8;
/// When nothing has come yet.
const NEVER: u32 = 0;
/// Beginnings that are remembered of each.
pub(super) const RECENT: usize = 32;

#[derive(Default)]
pub(super) struct Entry {
    pub(super) running: AtomicU32,
    /// As it is counted among the weights.
    pub(super) weight: AtomicU32,
    pub(super) waiting: AtomicU32,
    /// How many have begun, round and round.
    pub(super) begun: AtomicU32,
    /// When the last of them began, in milliseconds, each where its number says.
    began_ms: [AtomicU32; RECENT],
    /// How long its requests take, in microseconds: each moves it an eighth of the way. Zero until known.
    pub(super) hold_us: AtomicU32,
    /// How long those are presumed to take that are given up later than others of it end.
    pub(super) presumed_us: AtomicU32,
    /// When the last of them came, and how long after another they come, in microseconds, round and round.
    asked_us: AtomicU32,
    gap_us: AtomicU32,
    /// By how much more they cost than ordinary ones, in parts of one: each moves it an eighth of the way.
    dearer: AtomicU32,
}

impl Entry {
    /// A request has come. A lost race loses one.
    pub(super) fn ask(&self, now: Duration, cost: u64) {
        self.note_cost(cost);
        let now_us = micros(now);
        let last = self.asked_us.load(Ordering::Relaxed);
        // Clocks are read before there is an order: who was overtaken came at the same time.
        let overtaken = last.wrapping_sub(now_us) < OVERTAKEN_US;
        if !overtaken || last == NEVER {
            self.asked_us.store(now_us, Ordering::Relaxed);
        }
        if last == NEVER {
            return;
        }
        let gap = if overtaken {
            0
        } else {
            now_us.wrapping_sub(last)
        };
        let before = self.gap_us.load(Ordering::Relaxed);
        let gap = gap.min(before.saturating_mul(GAP_FACTOR).max(GAP_LEAST_US));
        let next = before - before / GAPS + gap / GAPS;
        self.gap_us.store(next, Ordering::Relaxed);
    }

    fn note_cost(&self, cost: u64) {
        let before = self.dearer.load(Ordering::Relaxed);
        // Nearly all requests are ordinary ones.
        if cost > 1 || before > 0 {
            let this = u32::try_from(cost - cost.min(1))
                .map_or(u32::MAX, |more| more.saturating_mul(DEARER_UNIT));
            let next = i64::from(before) + (i64::from(this) - i64::from(before)) / 8;
            // What is left of it after many ordinary ones is nothing.
            let next = if next < i64::from(DEARER_LEAST) {
                0
            } else {
                next
            };
            self.dearer.store(next as u32, Ordering::Relaxed);
        }
    }

    /// What its requests cost, in ordinary ones.
    pub(super) fn cost(&self) -> f64 {
        let dearer = self.dearer.load(Ordering::Relaxed);
        1.0 + f64::from(dearer) / f64::from(DEARER_UNIT)
    }

    /// Whether the requests that come need clearly fewer places than that, as long as they take.
    pub(super) fn asks_for_less_than(&self, places: f64) -> bool {
        let hold = f64::from(self.hold_us.load(Ordering::Relaxed));
        let gap = f64::from(self.gap_us.load(Ordering::Relaxed));
        0.0 < hold && hold < gap * places * CLEARLY_LESS
    }

    /// Whether they are known to.
    pub(super) fn takes_longer_than(&self, most: Duration) -> bool {
        !most.is_zero() && self.hold().is_some_and(|hold| hold > most)
    }

    /// One begins.
    pub(super) fn begin(&self, now: Duration) {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        self.began(number).store(millis(now), Ordering::Relaxed);
    }

    fn began(&self, number: u32) -> &AtomicU32 {
        &self.began_ms[number as usize % RECENT]
    }

    /// It is another tenant's from now on.
    pub(super) fn forget(&self) {
        for known in [&self.hold_us, &self.presumed_us, &self.gap_us, &self.dearer] {
            known.store(0, Ordering::Relaxed);
        }
        self.asked_us.store(NEVER, Ordering::Relaxed);
    }

    /// For how long the place has been held that was taken as the last but so many. Unknown where more have begun since
    /// than are remembered.
    pub(super) fn held_by(&self, last_but: u32, now: Duration) -> Option<Duration> {
        if last_but == 0 || last_but as usize > RECENT {
            return None;
        }
        let number = self.begun.load(Ordering::Relaxed).wrapping_sub(last_but);
        let began_ms = self.began(number).load(Ordering::Relaxed);
        let held_ms = millis(now).wrapping_sub(began_ms);
        // Clocks are read before there is an order: who began after this reading has held it for no time.
        let overtaken = held_ms > u32::MAX / 2;
        Some(match overtaken {
            true => Duration::ZERO,
            false => Duration::from_millis(held_ms.into()),
        })
    }

    pub(super) fn hold(&self) -> Option<Duration> {
        let hold = self.hold_us.load(Ordering::Relaxed);
        (hold > 0).then(|| Duration::from_micros(hold.into()))
    }

    /// What it has running and waiting.
    pub(super) fn load(&self) -> u32 {
        self.running.load(Ordering::Relaxed) + self.waiting.load(Ordering::Relaxed)
    }
}

/// Starts anew after an hour, and one gap is wrong.
fn micros(now: Duration) -> u32 {
    (now.as_micros() as u32).max(NEVER + 1)
}

/// Starts anew after seven weeks, which nothing takes.
fn millis(now: Duration) -> u32 {
    now.as_millis() as u32
}
