//! Finds the knee: the lowest limit at which the service does all that it can.
//!
//! Outcomes are gathered for a window. What was slower than undisturbed work is delay, and the share of it in the hold
//! time is the share of the limit that only waits behind the gate. Then:
//! - failures: the limit shrinks;
//! - work that is sent away, since there is no place for it: see [`refused`];
//! - no delay, and the limit is used: a step up, the larger the more have paid before. If throughput does not follow,
//!   it is taken back; if delay came instead, so may have been there before, and a step down is tried;
//! - more delay than may stand: a step down, to where the delay should end. While throughput holds it goes on; if
//!   throughput falls with the limit, the delay is the service's own: the limit returns, and that is what undisturbed
//!   means from now on.
//!
//! Work of several kinds is compared by what is usual for each: a tenant whose requests take long is no sign of a slow
//! service. Where kinds differ, it does not wait for a window to end: see [`listen`].
//!
//! Throughput is not counted but derived, from how many were inside and for how long: slow work comes and goes in
//! waves, and a window holds one wave more or one less.
//!
//! What is undisturbed never rises by itself while the limit is used, or it would soon follow the delay that the limit
//! makes. A step down is tried only from where something waits behind the gate, or where a step up has brought nothing.

use std::time::Duration;

use super::{Bounds, Level, Sample};
use crate::breaker::Outcome;
use calm::Calm;
use kinds::Kinds;
use listen::by_degrees;
use refused::Refused;
use step::{Descent, Growth, Pause, Step};
use window::{Seen, Window};

mod calm;
mod kinds;
mod listen;
mod refused;
mod step;
mod window;

/// The share of failures that means drops, and what remains after them.
const DROPS: f64 = 0.05;
const BACKOFF: f64 = 0.8;
/// How many standard errors chance may explain where a mistake would be believed, and where it would soon be seen.
const CHANCE: f64 = 3.0;
const DOUBT: f64 = 2.0;
/// A first step up, as a share of the limit, by what it is multiplied each time it pays, and the most, which is also
/// where it begins.
const GROWTH: f64 = 0.1;
const GROWTH_FACTOR: f64 = 3.0;
const GROWTH_MAX: f64 = 1.0;
/// How much of the way to where it was too much is gone at a time.
const APPROACH: f64 = 0.25;
/// The share of a step up that must be found again in throughput.
const PAYS: f64 = 0.5;
/// The share that proves that nothing waits, and how far undisturbed times follow then.
const PAYS_FULLY: f64 = 0.85;
const PROVEN: f64 = 0.5;
/// How far they follow while the limit is not used.
const UNUSED: f64 = 0.05;
/// The largest step down, and the first one where nothing is known of how much is delay; that one doubles.
const DESCENT_MAX: f64 = 0.4;
const DESCENT_BLIND: f64 = 0.07;
const DESCENT_BLIND_MAX: f64 = 0.3;
/// How much throughput all steps down together may cost, chance apart.
const LOSS: f64 = 0.05;
/// The share of the steps down that, found again in throughput, is not chance however much may be.
const FELL: f64 = 0.6;
/// The standard error, as a share, that is small enough to judge by.
const ERROR: f64 = 0.03;
/// What should wait behind the gate, lest a place be idle; half of it or less is no delay. A share of the limit, and
/// not less than one.
const HEADROOM: f64 = 0.06;
/// The standing delay is kept between these shares of the hold time, whatever the target.
const TARGET_LEAST: f64 = 0.1;
const TARGET_MOST: f64 = 0.2;
/// A descent that ends below this share of where it began has found something: look again soon.
const FAR: f64 = 0.8;

#[derive(Clone, Debug)]
pub(super) struct Guarded {
    level: Level,
    target_s: f64,
    window: Window,
    kinds: Kinds,
    /// What was seen last, and by how much the latest few were slower than usual: as believed warily, and readily.
    last: Option<Seen>,
    lately: [f64; 2],
    /// Hold times of undisturbed work, once known.
    calm: Option<Calm>,
    step: Step,
    /// The next step up, as a share.
    growth: f64,
    /// Where all were slowed down at once, until it is reached again by small steps.
    ceiling: Option<f64>,
    /// When to grow again after growth that did not pay, and when to look again whether delay is what it seems.
    grow: Pause,
    check: Pause,
    refused: Refused,
}

impl Guarded {
    pub(super) fn new(bounds: Bounds, target: Duration, length: Duration, initial: u32) -> Self {
        Self {
            level: Level::new(bounds, initial),
            target_s: target.as_secs_f64(),
            window: Window::new(length).settling(initial),
            kinds: Kinds::new(),
            last: None,
            lately: [1.0; 2],
            calm: None,
            step: Step::None,
            growth: GROWTH_MAX,
            ceiling: None,
            grow: Pause::NONE,
            check: Pause::NONE,
            refused: Refused::NONE,
        }
    }

    pub(super) fn record(&mut self, kind: u64, sample: Sample) {
        let slow = self.last.map_or(1.0, |last| last.mean);
        let usual_s = match sample.outcome {
            Outcome::Success => self.kinds.usual_s(kind, sample.hold, slow),
            // It does not say how long such work takes.
            Outcome::Failure => sample.hold.as_secs_f64(),
        };
        self.window.add(sample, usual_s);
        self.listen(&sample, usual_s);
        self.look(sample.now, sample.in_flight);
    }

    /// Ends the window, if enough was seen in it.
    fn look(&mut self, now: Duration, in_flight: u32) {
        let Some(seen) = self.window.look(now) else {
            return;
        };
        if !seen.is_late && !self.is_clear(&seen) {
            return;
        }
        self.window.restart(now);
        let before = self.level.whole();
        self.judge(&seen);
        self.last = Some(seen);
        let at_ease = self.calm.is_some_and(|calm| calm.any_delay(&seen) <= 0.0);
        self.kinds.compare(at_ease);
        if self.level.whole() != before {
            self.settle(now, in_flight, seen.held_s);
        }
    }

    fn settle(&mut self, now: Duration, in_flight: u32, held_s: f64) {
        let inside = in_flight.max(self.level.whole());
        self.window.settle(now, inside, held_s);
    }

    /// The larger what is looked for, the sooner it is certain.
    fn is_clear(&self, seen: &Seen) -> bool {
        if seen.failed > DROPS || self.refused.is_new(seen) {
            return true;
        }
        let Some(calm) = self.calm else {
            return seen.error.min(seen.quick_error) <= ERROR;
        };
        let known = calm.chance(seen).min(calm.quick_chance(seen));
        let (error, clear) = match self.step {
            Step::Up(growth) => (known, self.level.exact / growth.before - 1.0),
            Step::Down(descent) => (known, 1.0 - self.level.exact / descent.before),
            Step::None | Step::Suspect | Step::Fall { .. } | Step::Shed(_) => {
                (calm.error(seen), calm.delay(seen) - TARGET_MOST)
            }
        };
        error <= ERROR.max(clear / CHANCE / 2.0)
    }

    fn judge(&mut self, seen: &Seen) {
        if seen.failed > DROPS {
            return self.shrink();
        }
        if let Step::Shed(shed) = self.step {
            self.step = Step::None;
            if !self.judge_shed(seen, shed) {
                return;
            }
        } else if self.sheds(seen) {
            return;
        }
        let calm = self.calm.get_or_insert(Calm::new(seen));
        if !seen.has_used(self.level.whole()) {
            // Who never meets the limit proves nothing about another one.
            calm.follow(seen, UNUSED);
            self.step = Step::None;
            return;
        }
        calm.learn(seen);
        match std::mem::replace(&mut self.step, Step::None) {
            Step::Up(growth) => self.judge_growth(seen, growth),
            Step::Down(descent) => self.judge_descent(seen, descent),
            Step::Fall { from, slower } => self.judge_fall(seen, from, slower),
            Step::None | Step::Shed(_) => self.choose(seen, false),
            Step::Suspect => self.choose(seen, true),
        }
    }

    fn choose(&mut self, seen: &Seen, suspected: bool) {
        let error = self.calm.map_or(0.0, |calm| calm.error(seen));
        let (waiting, chance) = (self.waiting(seen), self.level.exact * error);
        if waiting > self.tolerated(seen) + DOUBT * chance {
            match suspected {
                true => self.step_down(seen, self.descent(seen, None)),
                false => self.step = Step::Suspect,
            }
            return;
        }
        let most = self.calm.map_or(0.0, |calm| calm.any_delay(seen));
        if self.level.exact * most <= self.headroom(seen) / 2.0 {
            if self.grow.is_over() {
                self.step_up(seen);
            }
        } else if error <= ERROR && self.check.is_over() {
            // Something waits, as it should. That undisturbed work is as quick as it is thought to be shows below it.
            let share = waiting / self.level.exact + DESCENT_BLIND;
            self.step_down(seen, self.descent(seen, Some(share)));
        }
    }

    /// The standard error of throughput.
    fn chance(&self, seen: &Seen) -> f64 {
        self.calm.map_or(seen.error, |calm| calm.chance(seen))
    }

    fn pace(&self, seen: &Seen) -> f64 {
        self.calm.map_or(seen.mean, |calm| calm.pace(seen))
    }

    fn descent(&self, seen: &Seen, blind: Option<f64>) -> Descent {
        Descent {
            from: self.level.exact,
            flow: seen.flow,
            error: self.chance(seen),
            before: self.level.exact,
            quick: seen.quick,
            blind,
        }
    }

    fn step_up(&mut self, seen: &Seen) {
        let before = self.level.exact;
        self.ceiling = self.ceiling.filter(|ceiling| before + 1.0 < *ceiling);
        let below = self.ceiling.map_or(f64::MAX, |ceiling| ceiling - before);
        let step = (before * self.growth).min(below * APPROACH);
        self.level.set(before + step.max(1.0));
        let goal = self.level.exact;
        if goal > before {
            self.refused.begin_step();
            let (by_degrees, each) = by_degrees(before, seen.evenness);
            if by_degrees {
                self.level.set(before);
            }
            self.step = Step::Up(Growth {
                before,
                goal,
                by_degrees,
                since: None,
                each,
                flow: seen.flow,
                pace: self.pace(seen),
                quick: seen.quick,
            });
        }
    }

    fn judge_growth(&mut self, seen: &Seen, growth: Growth) {
        let before = growth.before;
        let gained = seen.flow / growth.flow - 1.0;
        let step = self.level.exact / before - 1.0;
        let (asked, chance) = (step * PAYS, DOUBT * self.chance(seen));
        // Where throughput cannot tell, how quick work is does.
        let no_slower = chance > asked && self.pace(seen) < growth.pace * (1.0 + step / 4.0);
        if gained >= asked - chance.min(asked / 2.0) || no_slower {
            self.growth = (self.growth * GROWTH_FACTOR).min(GROWTH_MAX);
            self.grow = Pause::NONE;
            if gained >= step * PAYS_FULLY
                && let Some(calm) = &mut self.calm
            {
                calm.follow(seen, PROVEN);
            }
            return self.choose(seen, true);
        }
        self.growth = GROWTH;
        if self.waiting(seen) < (self.level.exact - before) / 2.0 {
            self.level.set(before);
            return self.grow.begin();
        }
        // All of the step waits. Before it, was nothing waiting? Undisturbed may mean something else.
        self.level.set(before * (1.0 + gained.max(0.0)));
        let descent = Descent {
            from: self.level.exact * (1.0 + HEADROOM),
            flow: growth.flow.max(seen.flow),
            error: self.chance(seen),
            before: self.level.exact,
            quick: growth.quick,
            blind: Some(DESCENT_BLIND),
        };
        self.step_down(seen, descent);
    }

    fn step_down(&mut self, seen: &Seen, mut descent: Descent) {
        let here = self.level.exact;
        descent.before = here;
        let goal = match descent.blind {
            Some(share) => here * (1.0 - share),
            None => {
                let goal = here - self.waiting_places(seen) + self.headroom(seen);
                goal.max(here * (1.0 - DESCENT_MAX))
            }
        };
        self.level.set(goal.min(here - 1.0));
        if self.level.exact < here {
            self.step = Step::Down(descent);
        }
    }

    fn judge_descent(&mut self, seen: &Seen, mut descent: Descent) {
        let error = self.chance(seen).hypot(descent.error);
        let kept = seen.flow / descent.flow;
        let steps = 1.0 - self.level.exact / descent.from;
        if kept < 1.0 - 2.0 * steps - CHANCE * error {
            // More than the steps can have cost: something else has changed.
            self.step = Step::Suspect;
            return;
        }
        let allowed = LOSS.max(steps * FELL).min(LOSS.max(CHANCE * error));
        let (fell, own) = (kept < 1.0 - allowed, self.is_own(seen, &descent));
        descent.quick = seen.quick;
        match (fell, own) {
            (true, None | Some(true)) => self.return_to(self.level.exact / kept, seen, &descent),
            (false, Some(true)) => self.return_to(descent.before, seen, &descent),
            _ => self.go_on(seen, descent),
        }
    }

    /// Whether the delay is the service's own, by the quickest of mixed work: they would be quicker now if it were not.
    /// `None` if they cannot tell.
    fn is_own(&self, seen: &Seen, descent: &Descent) -> Option<bool> {
        let step = 1.0 - self.level.exact / descent.before;
        let error = self.calm.map_or(0.0, |calm| calm.quick_chance(seen));
        let mixed = self.calm.is_some_and(|calm| calm.is_mixed(seen));
        let tells = mixed && 2.0 * CHANCE * error < step;
        tells.then(|| seen.quick > descent.quick * (1.0 - step / 2.0))
    }

    /// The knee was here, and this is what undisturbed means.
    fn return_to(&mut self, knee: f64, seen: &Seen, descent: &Descent) {
        self.calm = Some(Calm::new(seen));
        let goal = knee + (knee * HEADROOM).max(1.0) * seen.evenness;
        self.level.set(goal.min(descent.from));
        if self.level.exact < FAR * descent.from {
            self.check = Pause::NONE;
        }
        self.growth = GROWTH;
        self.check.begin();
    }

    fn go_on(&mut self, seen: &Seen, mut descent: Descent) {
        match &mut descent.blind {
            Some(share) => *share = (*share * 2.0).min(DESCENT_BLIND_MAX),
            None if self.waiting(seen) <= self.tolerated(seen) => return,
            None => {}
        }
        self.step_down(seen, descent);
    }

    fn shrink(&mut self) {
        self.step = Step::None;
        self.growth = GROWTH;
        self.grow = Pause::NONE;
        let lower = (self.level.exact * BACKOFF).min(self.level.exact - 1.0);
        self.level.set(lower);
    }

    /// How many of those inside wait behind the gate.
    fn waiting(&self, seen: &Seen) -> f64 {
        self.level.exact * self.calm.map_or(0.0, |calm| calm.delay(seen))
    }

    /// The places that they take: where work waits in line, all are delayed by as much, and the quick by many times of
    /// what they take.
    fn waiting_places(&self, seen: &Seen) -> f64 {
        let delay = self.calm.map_or(0.0, |calm| calm.delay(seen));
        let delayed = delay / (1.0 - delay).max(f64::MIN_POSITIVE) * seen.evenness;
        self.level.exact * delayed / (1.0 + delayed)
    }

    /// How many may.
    fn tolerated(&self, seen: &Seen) -> f64 {
        let share = (self.target_s / seen.mean_s).clamp(TARGET_LEAST, TARGET_MOST);
        (self.level.exact * share).max(1.5)
    }

    /// Less where a slow one that waits would delay many quick ones.
    fn headroom(&self, seen: &Seen) -> f64 {
        (self.level.exact * HEADROOM).max(1.0) * seen.evenness
    }

    pub(super) fn limit(&self) -> u32 {
        self.level.whole()
    }

    pub(super) fn set(&mut self, limit: u32) {
        self.step = Step::None;
        self.level.set(f64::from(limit));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
