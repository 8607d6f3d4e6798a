//! What hold times are like where nothing waits behind the gate, and what is delay by that.

use super::CHANCE;
use super::window::Seen;

/// The share of delay in a mean that counts whatever the quickest say.
const STEP: f64 = 0.67;
/// How many windows the mean of mixed work is learnt from.
const AGE: u32 = 8;
/// How far undisturbed times follow faster ones that may be chance.
const FALL: f64 = 0.25;

/// Of all, and of the quickest: a mix that becomes dearer slows the mean, a queue slows everybody.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calm {
    mean_s: f64,
    quick_s: f64,
    /// Windows that it was learnt from: the slowest work is missing in the first.
    age: u32,
}

impl Calm {
    pub(super) fn new(seen: &Seen) -> Self {
        Self {
            mean_s: seen.mean_s,
            quick_s: seen.quick_s,
            age: 0,
        }
    }

    /// The share of the hold time that is delay. Where work is quick and slow by nature the mean is worth little: it
    /// tells only within what the quickest tell. They are delayed by as much time as all where work waits in line, and
    /// by as large a share where it is slowed down. Unless they go another way: then a step must be a large one.
    pub(super) fn delay(&self, seen: &Seen) -> f64 {
        let mean = 1.0 - self.mean_s / seen.mean_s;
        if !seen.is_mixed() || mean - CHANCE * seen.error > STEP {
            return mean.max(0.0);
        }
        let (least, most) = self.quick_delay(seen);
        mean.clamp((least * most).sqrt(), most)
    }

    fn quick_delay(&self, seen: &Seen) -> (f64, f64) {
        let delay_s = (seen.quick_s - self.quick_s).max(0.0);
        let most = delay_s / seen.quick_s;
        ((delay_s / seen.mean_s).min(most), most)
    }

    /// The most that the delay may be, beyond chance.
    pub(super) fn any_delay(&self, seen: &Seen) -> f64 {
        match seen.is_mixed() {
            true => self.quick_delay(seen).1 - seen.quick_error,
            false => self.delay(seen) - seen.error,
        }
    }

    /// The standard error of throughput, as a share: work that waits in line varies together, and looks more even than
    /// what the service makes of it.
    pub(super) fn chance(&self, seen: &Seen) -> f64 {
        seen.error * (seen.mean_s / self.mean_s).max(1.0)
    }

    pub(super) fn quick_chance(&self, seen: &Seen) -> f64 {
        seen.quick_error * (seen.quick_s / self.quick_s).max(1.0)
    }

    /// The standard error of the delay.
    pub(super) fn error(&self, seen: &Seen) -> f64 {
        if !seen.is_mixed() {
            return seen.error;
        }
        let (least, most) = self.quick_delay(seen);
        seen.error.min(most - least + seen.quick_error)
    }

    /// From a window in which the limit was used: down, never up, but for the mean of mixed work while it is young.
    pub(super) fn learn(&mut self, seen: &Seen) {
        let (_, quick) = self.quick_delay(seen);
        if seen.is_mixed() && self.age < AGE && quick < CHANCE * seen.quick_error {
            self.age += 1;
            self.mean_s += (seen.mean_s - self.mean_s) / f64::from(self.age + 1);
        }
        fall(&mut self.mean_s, seen.mean_s, CHANCE * seen.error);
        fall(&mut self.quick_s, seen.quick_s, CHANCE * seen.quick_error);
    }

    /// Both ways, by a share: nothing waits, or not for this limit.
    pub(super) fn follow(&mut self, seen: &Seen, share: f64) {
        self.mean_s += (seen.mean_s - self.mean_s) * share;
        self.quick_s += (seen.quick_s - self.quick_s) * share;
    }
}

fn fall(lowest_s: &mut f64, seen_s: f64, chance: f64) {
    if seen_s < *lowest_s * (1.0 - chance) {
        *lowest_s = seen_s;
    } else if seen_s < *lowest_s {
        *lowest_s += (seen_s - *lowest_s) * FALL;
    }
}
