//! Seats: which of a desk's words a thread writes, alone as long as there are enough.
//!
//! What only one thread writes needs no locked instruction, which is most of what counting costs.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// For one thread each, from its first task to its end.
const OWN: usize = 24;
/// For all threads that come when those are taken.
const SHARED: usize = 8;
pub(super) const SEATS: usize = OWN + SHARED;

const _: () = assert!(OWN < u32::BITS as usize && SEATS.is_power_of_two());

/// A thread's seat at every desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seat(u8);

impl Seat {
    /// Not seated yet.
    const NONE: Self = Self(u8::MAX);

    #[inline]
    pub(super) fn of_this_thread() -> Self {
        match MINE.get() {
            Self::NONE => sit_down(),
            seat => seat,
        }
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        usize::from(self.0) % SEATS
    }

    /// Whether no other thread has this seat. The next one to have it sees all that was done from it.
    #[inline]
    pub(super) fn is_own(self) -> bool {
        self.index() < OWN
    }

    fn shared() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let turn = NEXT.fetch_add(1, Ordering::Relaxed) % SHARED;
        Self((OWN + turn) as u8)
    }
}

thread_local! {
    /// Needs no destructor, so it can be read to the very end of the thread.
    static MINE: Cell<Seat> = const { Cell::new(Seat::NONE) };
    static LEAVING: Leaving = const { Leaving };
}

/// Gives the thread's seat back when the thread ends.
struct Leaving;

impl Drop for Leaving {
    fn drop(&mut self) {
        // What the thread still spawns while it ends, it spawns from a shared seat.
        let seat = MINE.replace(Seat::shared());
        if seat.is_own() {
            FREE.give(seat);
        }
    }
}

#[cold]
fn sit_down() -> Seat {
    // A thread that is ending already could not give its own seat back.
    let lasting = LEAVING.try_with(|_| ()).is_ok();
    let own = if lasting { FREE.take() } else { None };
    let seat = own.unwrap_or_else(Seat::shared);
    MINE.set(seat);
    seat
}

static FREE: Free = Free::all();

/// The own seats that nobody has: a bit for each.
struct Free(AtomicU32);

impl Free {
    const fn all() -> Self {
        Self(AtomicU32::new((1 << OWN) - 1))
    }

    fn take(&self) -> Option<Seat> {
        let lowest_out = |free: u32| (free != 0).then(|| free & (free - 1));
        // Acquires what the seat's last thread did before it gave it back.
        let before = self
            .0
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, lowest_out)
            .ok()?;
        Some(Seat(before.trailing_zeros() as u8))
    }

    fn give(&self, seat: Seat) {
        self.0.fetch_or(1 << seat.0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
