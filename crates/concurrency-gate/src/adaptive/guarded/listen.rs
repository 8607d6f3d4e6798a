//! What is done between two windows, where work differs: those are long where some of it is slow, and a few slow
//! requests too many hold up all that are quick.
//!
//! The way up is gone little by little, and given up as soon as the latest of the quick are slow. When they are very
//! slow, the limit goes down at once, to where the delay should end, and the next window tells whether that was right.

use std::time::Duration;

use super::calm::Calm;
use super::step::{Pause, Step};
use super::window::Seen;
use super::{GROWTH, GROWTH_MAX, Guarded, Sample};
use crate::breaker::Outcome;

/// How many of the latest are listened to.
pub(super) const LATELY: f64 = 8.0;
/// How many times slower than those before it one is heard as, at most: where little delay is looked for, and much.
const SLOWER: [f64; 2] = [1.5, 3.0];
/// How much larger the limit grows while those listened to are replaced twice; and how far back it goes from what was
/// too much.
const RAMP: f64 = 1.0 / 32.0;
const NEAR: f64 = 0.9;
/// Then it has to pay as far as it has come: those who are listened to may have gone.
const RAMP_MAX: Duration = Duration::from_secs(4);
/// How many times slower than undisturbed is very slow, and the most that the limit loses by it.
const VERY_SLOW: f64 = 3.0;
const FALL_MAX: f64 = 0.6;
/// A delay is the same as another if it is more than this share of it, either way.
const SAME: f64 = 0.7;
/// Work differs if its evenness is less.
const EVEN: f64 = 0.8;

/// Whether the way up from here is gone little by little, and by how much with each that ends.
pub(super) fn by_degrees(here: f64, evenness: f64) -> (bool, f64) {
    let pace = 2.0 * LATELY * (1.0 - evenness);
    (pace >= 1.0, (here * RAMP).max(1.0) / pace.max(1.0))
}

impl Guarded {
    pub(super) fn listen(&mut self, sample: &Sample, usual_s: f64) {
        let (Some(calm), Some(last)) = (self.calm, self.last) else {
            return;
        };
        if sample.outcome == Outcome::Failure {
            return;
        }
        self.refused.hear_success();
        let slow = sample.hold.as_secs_f64() / usual_s;
        // A wait that is hardly seen in what takes long shows in what is quick.
        let says = (last.quick_s / usual_s).min(1.0);
        // One that is very slow says nothing about all: the latest must be, together.
        for (lately, slower) in self.lately.iter_mut().zip(SLOWER) {
            let slow = slow.min(*lately * slower + calm.mean());
            *lately += (slow - *lately) * says / LATELY;
        }
        let [warily, readily] = self.lately;
        match self.step {
            Step::Up(growth) if growth.by_degrees && warily > calm.alarm() => {
                let here = self.level.exact;
                self.ceiling = Some(here);
                self.level.set(growth.before.max(here * NEAR));
                self.step = Step::None;
                self.growth = GROWTH;
                self.grow.begin();
                self.anew(sample.now, sample.in_flight, sample.hold.as_secs_f64());
            }
            Step::Up(mut growth) if self.level.exact < growth.goal => {
                let since = *growth.since.get_or_insert(sample.now);
                let next = self.level.exact + growth.each * says;
                self.level.set(growth.goal.min(next));
                if sample.now.saturating_sub(since) > RAMP_MAX {
                    growth.goal = self.level.exact;
                }
                self.step = Step::Up(growth);
                self.anew(sample.now, sample.in_flight, last.held_s);
            }
            Step::Up(_) => {}
            _ if last.evenness < EVEN => self.fall(sample, &last, readily / calm.mean()),
            _ => {}
        }
    }

    /// The latest are so many times slower than undisturbed. The larger the delay is, the more waits behind the gate.
    fn fall(&mut self, sample: &Sample, last: &Seen, slower: f64) {
        if slower < VERY_SLOW {
            return;
        }
        let (from, most) = match self.step {
            Step::Fall { from, slower } => (from, slower),
            _ => (self.level.exact, 0.0),
        };
        let delayed = (slower - 1.0) * last.evenness;
        let share = (delayed / (1.0 + delayed)).min(FALL_MAX);
        let goal = from * (1.0 - share);
        if goal <= self.level.exact - 1.0 {
            self.level.set(goal);
            self.step = Step::Fall {
                from,
                slower: slower.max(most),
            };
            self.anew(sample.now, sample.in_flight, last.held_s);
        }
    }

    /// Where the delay is the same after the fall, the service is that slow by itself; any other one was a wait.
    pub(super) fn judge_fall(&mut self, seen: &Seen, from: f64, slower: f64) {
        let now = self.calm.map_or(1.0, |calm| seen.mean / calm.mean());
        let same = now / slower;
        if (SAME..=SAME.recip()).contains(&same) {
            self.calm = Some(Calm::new(seen));
            self.level.set(from);
            return;
        }
        self.growth = GROWTH_MAX;
        self.grow = Pause::NONE;
        self.choose(seen, true);
    }

    /// Another limit: what is inside goes first, then a window begins.
    pub(super) fn anew(&mut self, now: Duration, in_flight: u32, held_s: f64) {
        self.window.restart(now);
        self.settle(now, in_flight, held_s);
    }
}
