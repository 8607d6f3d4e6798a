//! What hold times are like where nothing waits behind the gate, and what is delay by that.

use super::CHANCE;
use super::listen::LATELY;
use super::window::Seen;

/// The spread of work that is of several kinds.
const MIXED: f64 = 0.6;
/// The least delay to be alarmed by, as a share of what is undisturbed.
const ALARM: f64 = 0.2;
/// The share of delay in a mean that counts whatever the quickest say.
const STEP: f64 = 0.67;
/// How many windows the mean of mixed work is learnt from.
const AGE: u32 = 8;
/// How far undisturbed times follow faster ones that may be chance.
const FALL: f64 = 0.25;

/// Of all, and of the quickest: a mix that becomes dearer slows the mean, a queue slows everybody.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calm {
    mean: f64,
    quick: f64,
    /// Windows that it was learnt from: the slowest work is missing in the first.
    age: u32,
    /// How wide they are spread, as a share of the mean.
    spread: f64,
}

impl Calm {
    pub(super) fn new(seen: &Seen) -> Self {
        Self {
            mean: seen.mean,
            quick: seen.quick,
            age: 0,
            spread: seen.spread,
        }
    }

    /// Whether the work is quick and slow by nature. What waits is, too, for as long as it waits.
    pub(super) fn is_mixed(&self, seen: &Seen) -> bool {
        seen.spread.min(self.spread) > MIXED
    }

    /// How long work took, by those of it that vary least.
    pub(super) fn pace(&self, seen: &Seen) -> f64 {
        match self.is_mixed(seen) {
            true => seen.quick,
            false => seen.mean,
        }
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// How slow the latest few are when it is certain that all are slowed down.
    pub(super) fn alarm(&self) -> f64 {
        self.mean * (1.0 + ALARM + self.spread * CHANCE / LATELY.sqrt())
    }

    /// The share of the hold time that is delay. Where work is quick and slow by nature the mean is worth little: it
    /// tells only within what the quickest tell. They are delayed by as much time as all where work waits in line, and
    /// by as large a share where it is slowed down. Unless they go another way: then a step must be a large one.
    pub(super) fn delay(&self, seen: &Seen) -> f64 {
        let mean = 1.0 - self.mean / seen.mean;
        if !self.is_mixed(seen) || mean - CHANCE * seen.error > STEP {
            return mean.max(0.0);
        }
        let (least, most) = self.quick_delay(seen);
        mean.clamp((least * most).sqrt(), most)
    }

    fn quick_delay(&self, seen: &Seen) -> (f64, f64) {
        let delay = (seen.quick - self.quick).max(0.0);
        let most = delay / seen.quick;
        ((delay / seen.mean).min(most), most)
    }

    /// The most that the delay may be, beyond chance.
    pub(super) fn any_delay(&self, seen: &Seen) -> f64 {
        match self.is_mixed(seen) {
            true => self.quick_delay(seen).1 - seen.quick_error,
            false => self.delay(seen) - seen.error,
        }
    }

    /// The standard error of throughput, as a share: work that waits in line varies together, and looks more even than
    /// what the service makes of it.
    pub(super) fn chance(&self, seen: &Seen) -> f64 {
        seen.error * (seen.mean / self.mean).max(1.0)
    }

    pub(super) fn quick_chance(&self, seen: &Seen) -> f64 {
        seen.quick_error * (seen.quick / self.quick).max(1.0)
    }

    /// The standard error of the delay.
    pub(super) fn error(&self, seen: &Seen) -> f64 {
        if !self.is_mixed(seen) {
            return seen.error;
        }
        let (least, most) = self.quick_delay(seen);
        seen.error.min(most - least + seen.quick_error)
    }

    /// From a window in which the limit was used: down, never up, but for the mean of mixed work while it is young.
    pub(super) fn learn(&mut self, seen: &Seen) {
        let (_, quick) = self.quick_delay(seen);
        if self.is_mixed(seen) && self.age < AGE && quick < CHANCE * seen.quick_error {
            self.age += 1;
            self.mean += (seen.mean - self.mean) / f64::from(self.age + 1);
        }
        if seen.mean <= self.alarm() || seen.spread < self.spread {
            self.spread += (seen.spread - self.spread) * FALL;
        }
        fall(&mut self.mean, seen.mean, CHANCE * seen.error);
        fall(&mut self.quick, seen.quick, CHANCE * seen.quick_error);
    }

    /// Both ways, by a share: nothing waits, or not for this limit.
    pub(super) fn follow(&mut self, seen: &Seen, share: f64) {
        self.mean += (seen.mean - self.mean) * share;
        self.quick += (seen.quick - self.quick) * share;
    }
}

fn fall(lowest: &mut f64, seen: f64, chance: f64) {
    if seen < *lowest * (1.0 - chance) {
        *lowest = seen;
    } else if seen < *lowest {
        *lowest += (seen - *lowest) * FALL;
    }
}
