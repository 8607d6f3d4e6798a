//! A place in use, and what it costs.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use fair_queue::Slot;

use super::Slots;
use super::tenants::Seat;

/// Cost units of an ordinary request. Others cost fractions of it, so one is not enough.
pub(crate) const UNIT: u64 = 64;
/// A request costs between a unit and 64 times of an ordinary one, for each that its route says it is.
const LEAST: f64 = 1.0 / UNIT as f64;
const MOST: f64 = 64.0;
/// What takes about as long as usual costs the same: a turn pays for one such request, and who costs a hair more than
/// that would have to leave out turns for it.
const ORDINARY: RangeInclusive<f64> = 0.7..=1.4;
/// What takes so many times as long as others is overdue.
const OVERDUE: u32 = 2;
/// Work that would have been over so soon is not waited for.
const SHORT_AFTERMATH: Duration = Duration::from_millis(2);
/// And none is waited for longer than this.
const LONGEST_AFTERMATH: Duration = Duration::from_secs(5);

/// A place in use.
pub(crate) struct Place {
    pub(super) slots: Arc<Slots>,
    /// Absent for one of those kept back.
    pub(super) slot: Option<Slot>,
    pub(super) tenant: u64,
    /// Where it is counted.
    pub(super) seat: Seat,
    pub(super) sparse: bool,
    pub(super) real_cost: Option<u64>,
    /// When it was given back, if that is known.
    pub(super) ended_at: Option<Duration>,
    pub(crate) since: Duration,
    /// How much of the time since then went to tries that brought nothing, and to pauses between them.
    pub(crate) earlier: Duration,
    /// How much of it went to waiting for its client's body.
    pub(crate) body: Duration,
}

impl Drop for Place {
    fn drop(&mut self) {
        let slots = &self.slots;
        slots.tenants.end(self.seat);
        if self.sparse {
            slots.reserve.end_sparse();
        }
        match (self.slot.take(), self.real_cost) {
            (None, _) => slots.reserve.give_back(),
            (Some(slot), Some(cost)) => match self.ended_at {
                Some(now) => slot.settle_at(cost, now),
                None => slot.settle(cost),
            },
            (Some(slot), None) => drop(slot),
        }
        slots.reserve.look_again();
    }
}

impl Place {
    /// Writes down what it has cost, held for so long, in ordinary requests that usually hold one for `usual`.
    pub(crate) fn bill(&mut self, hold: Duration, cost: u64, usual: Duration) -> u64 {
        *self.real_cost.insert(price_of(hold, cost, usual))
    }

    /// Whether it has been held for clearly longer than others of its tenant are. `None` if none of them is known.
    pub(crate) fn is_overdue(&self, held: Duration) -> Option<bool> {
        let hold = self.slots.tenants.hold(self.seat)?;
        Some(held > hold * OVERDUE)
    }

    /// How long its upstream worked for it, of so long.
    pub(crate) fn worked(&self, hold: Duration) -> Duration {
        hold.saturating_sub(self.earlier.max(self.body))
    }

    /// Whether its tenant has more places than are its part.
    pub(crate) fn is_beyond_part(&self) -> bool {
        let slots = &self.slots;
        slots.tenants.is_beyond_part(self.seat, slots.limit())
    }

    /// Nothing was done in it.
    pub(crate) fn unused(mut self) {
        self.real_cost = Some(0);
    }

    /// How long an upstream that does not notice may still be busy with work that nobody waits for any more. Who does
    /// not wait for the end is taken to ask for what takes as long as others have had to wait at the worst. Where
    /// nobody said what the upstream can do, and the `hasty` are all there is, it is trusted with less and less.
    pub(crate) fn aftermath(
        &self,
        now: Duration,
        usual: Duration,
        hasty: bool,
    ) -> Option<Duration> {
        let held = now.saturating_sub(self.since);
        let presumed = self.slots.tenants.presume(self.seat, held, usual);
        let left = match hasty && self.slots.is_unlimited() {
            true => presumed.max(self.slots.silence.lasts(now, self.since)),
            false => presumed,
        };
        let left = left.checked_sub(held)?;
        (left >= SHORT_AFTERMATH).then(|| left.min(LONGEST_AFTERMATH))
    }
}

/// What a place costs that is held for so long.
pub(super) fn price_of(hold: Duration, cost: u64, usual: Duration) -> u64 {
    let dearer = hold.as_secs_f64() / usual.as_secs_f64().max(1e-6);
    let dearer = if ORDINARY.contains(&dearer) {
        1.0
    } else {
        dearer
    };
    ((cost * UNIT) as f64 * dearer.clamp(LEAST, MOST)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: FQ-01
    #[test]
    fn what_takes_about_as_long_as_usual_costs_the_same_and_the_rest_what_it_takes() {
        let price = |ms, cost| price_of(Duration::from_millis(ms), cost, Duration::from_millis(20));
        assert_eq!([price(15, 1), price(20, 1), price(27, 1)], [UNIT; 3]);
        assert_eq!((price(640, 1), price(10, 1)), (UNIT * 32, UNIT / 2));
        assert_eq!((price(20, 3), price(640, 3)), (UNIT * 3, UNIT * 96));
        assert_eq!((price(0, 1), price(60_000, 1)), (1, UNIT * 64));
    }
}
