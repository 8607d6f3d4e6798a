//! The way up where work differs: a few slow requests too many hold up all that are quick, so it is gone little by
//! little, and given up as soon as the latest of the quick are slow.

use super::step::Step;
use super::{GROWTH, Guarded, Sample};

/// How many of the latest are listened to.
pub(super) const LATELY: f64 = 8.0;
/// How much larger the limit grows while those listened to are replaced twice; and how far back it goes from what was
/// too much.
const RAMP: f64 = 1.0 / 32.0;
const NEAR: f64 = 0.9;

/// Whether the way up from here is gone little by little, and by how much with each that ends.
pub(super) fn by_degrees(here: f64, evenness: f64) -> (bool, f64) {
    let pace = 2.0 * LATELY * (1.0 - evenness);
    (pace >= 1.0, (here * RAMP).max(1.0) / pace.max(1.0))
}

impl Guarded {
    /// Goes on with a step up, or takes it back before its window is over when it slows all down.
    pub(super) fn go_up(&mut self, sample: &Sample, usual_s: f64) {
        let slow = sample.hold.as_secs_f64() / usual_s;
        // A wait that is hardly seen in what takes long shows in what is quick.
        let says = (self.quick_s / usual_s).min(1.0);
        self.lately += (slow - self.lately) * says / LATELY;
        let (Some(calm), Step::Up(growth)) = (self.calm, self.step) else {
            return;
        };
        let here = self.level.exact;
        if growth.by_degrees && self.lately > calm.alarm() {
            self.ceiling = Some(here);
            self.level.set(growth.before.max(here * NEAR));
            self.step = Step::None;
            self.growth = GROWTH;
            self.grow.begin();
            self.window.restart(sample.now);
            self.settle(sample, sample.hold.as_secs_f64());
        } else if here < growth.goal {
            self.level.set(growth.goal.min(here + growth.each * says));
            self.window.restart(sample.now);
            self.settle(sample, self.held_s);
        }
    }
}
