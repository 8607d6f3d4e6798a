//! What is done about work that the service sends away: it may have no place for it, or send it away however little it
//! has to do.
//!
//! Where it has none, what it does fills all the places there are. So the limit goes a little below how many it works
//! on, and that must end the refusals; then it grows again by small steps, each of which is given up with the first of
//! them. If they do not end, they say nothing about the limit, which returns to where it was.

use std::time::Duration;

use super::step::{Pause, Step};
use super::window::Seen;
use super::{DOUBT, DROPS, GROWTH, GROWTH_MAX, Guarded};

/// How far below what it works on the limit goes: clearly, or a place too many would be refused all that comes.
const BELOW: f64 = 0.9;
/// Who is refused with fewer inside than this share of what it works on is not refused for want of a place.
const CROWDED: f64 = 0.8;
/// The share of the refusals that may be left where fewer inside have helped.
const HELPED: f64 = 0.5;
/// It works on so much less of what is inside that it must have become smaller meanwhile.
const SMALLER: f64 = 0.9;
/// How many times the refusals that are its own there must be for others to be among them.
const MORE: f64 = 1.5;
/// So many refusals, beyond those that are its own, end a step up.
const FEW: f64 = 4.0;

/// Refusals, and what is known of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused {
    /// The share that is refused whatever the limit is.
    own: f64,
    /// When to find out again whether that is so.
    check: Pause,
    /// Of those heard of since the last step up: all, and refusals.
    heard: f64,
    refused: f64,
}

impl Refused {
    pub(super) const NONE: Self = Self {
        own: 0.0,
        check: Pause::NONE,
        heard: 0.0,
        refused: 0.0,
    };

    /// Whether there are more of them than are known, and than chance explains.
    pub(super) fn is_new(&self, seen: &Seen) -> bool {
        seen.refused - DOUBT * seen.refused_error > DROPS + self.own * MORE
    }

    pub(super) fn begin_step(&mut self) {
        (self.heard, self.refused) = (0.0, 0.0);
    }

    pub(super) fn hear_success(&mut self) {
        self.heard += 1.0;
    }
}

/// A limit that is tried, because so many were refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shed {
    from: f64,
    refused: f64,
    /// The share of what was inside that was worked on.
    filled: f64,
}

impl Guarded {
    /// The service has sent one away that was inside for so long, with so many others.
    pub(in crate::adaptive) fn overrun(&mut self, now: Duration, held: Duration, in_flight: u32) {
        self.window.add_refused(now, held, in_flight);
        self.hear_refusal(now, in_flight);
        self.look(now, in_flight);
    }

    /// Tries it with fewer inside, if there are refusals that this might end.
    pub(super) fn sheds(&mut self, seen: &Seen) -> bool {
        self.refused.own = self.refused.own.min(seen.refused);
        let is_new = self.refused.is_new(seen);
        if seen.refused <= DROPS || !is_new && !self.refused.check.is_over() {
            return false;
        }
        if seen.refused_inside < CROWDED * seen.inside {
            return false;
        }
        self.shed(seen, self.level.exact)
    }

    fn shed(&mut self, seen: &Seen, from: f64) -> bool {
        let here = self.level.exact;
        self.level.set((seen.inside * BELOW).min(here - 1.0));
        if self.level.exact >= here {
            self.take_as_own(seen);
            return false;
        }
        self.step = Step::Shed(Shed {
            from,
            refused: seen.refused,
            filled: seen.inside / here,
        });
        true
    }

    fn take_as_own(&mut self, seen: &Seen) {
        self.refused.own = seen.refused;
        self.refused.check.begin();
    }

    /// Whether fewer inside have helped.
    pub(super) fn judge_shed(&mut self, seen: &Seen, shed: Shed) -> bool {
        let own = self.refused.own.min(seen.refused);
        if seen.refused - own <= (shed.refused - own) * HELPED {
            self.refused = Refused {
                own,
                ..Refused::NONE
            };
            self.ceiling = Some(shed.from);
            self.growth = GROWTH_MAX;
            self.grow = Pause::NONE;
            return true;
        }
        if seen.inside / self.level.exact < shed.filled * SMALLER && self.shed(seen, shed.from) {
            return false;
        }
        self.take_as_own(seen);
        self.level.set(shed.from);
        false
    }

    /// Hears of a refusal while a step up is under way, and gives that up if it brings many.
    fn hear_refusal(&mut self, now: Duration, in_flight: u32) {
        let (Step::Up(growth), Some(last)) = (self.step, self.last) else {
            return;
        };
        let refused = &mut self.refused;
        refused.heard += 1.0;
        refused.refused += 1.0;
        let before = refused.own.max(last.refused).max(DROPS);
        if refused.refused <= FEW + before * MORE * refused.heard {
            return;
        }
        self.ceiling = Some(self.level.exact);
        self.level.set(growth.before);
        self.step = Step::None;
        self.growth = GROWTH;
        // So few refusals are cheap: it is not tried more seldom each time.
        self.grow = Pause::NONE;
        self.grow.begin();
        self.anew(now, in_flight, last.held_s);
    }
}
