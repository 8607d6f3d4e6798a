//! A weighted fair queue in front of counted slots: who waits, who is next, who is told to go away.
//!
//! Two levels share by weight: classes share the slots, the tenants of a class share what the class
//! gets. Work has a cost, in units or bytes; within a tenant it is first come, first served.
//!
//! - [`Queue`] is the core. It takes `now`, returns decisions, reads no clock and, once made,
//!   allocates nothing.
//! - [`FairQueue`] is the shell: futures, wakers, slots. As long as a slot is free and nobody waits,
//!   taking one is a compare-and-swap and the core is not touched.
//!
//! # Laws
//! In cost units, with `Q` the quantum, `Max` the highest cost of an item, and `w` weights:
//!
//! 1. **Bound.** Over any interval in which two tenants of a class, or two classes, both have work,
//!    `|served_i / w_i − served_j / w_j| ≤ Q + 2·Max`.
//! 2. **No starvation.** A member with work gets a turn in every round, and a round with `n` members
//!    that have work takes in at most `max(16, n)` newcomers. A turn brings at least one item, since
//!    `Max ≤ Q`.
//! 3. **No savings.** A member without work keeps no credit; of a tenant that neither waits nor
//!    owes nothing is kept at all, so a million known tenants cost what ten do.
//! 4. **Sparse first.** A member that had nothing waiting waits only for the turn that is open and for
//!    newcomers before it. It is once a newcomer in a round: a tenant that runs empty on purpose is
//!    treated like one that always waits. Because an open turn is never broken off, law 1 holds for
//!    newcomers too.
//! 5. **Only what runs is paid for.** Cancelled and expired work is never dispatched, costs nothing, and
//!    leaves in O(1).
//! 6. **Settlement.** [`Slot::settle`] replaces the expected cost by the real one. What was too little is
//!    repaid by waiting, at most 64 turns; law 1 holds for what was charged at dispatch, and is wider by
//!    the corrections of work in flight for the real cost.
//! 7. **No barging.** With somebody waiting, a freed slot goes to the next in order; a lowered limit is
//!    worked off before any slot is handed on.
//! 8. **Live changes** of weights and quantum hold from the next turn of each, so law 1 holds again after
//!    one round.
//!
//! Laws 1 to 3 are checked by TLC in `specs/drr.tla`, all of them by seeded simulations and against a
//! plain model, and the shell by loom and shuttle.
//!
//! Enqueue, dispatch and cancellation take O(1) steps, counted over many: an expired item is passed
//! over once, a debt once a turn. Only two things look at all that waits, and only when the queue is
//! full: purging, when some deadline has passed, and finding whose oldest item to drop
//! ([`Overflow::DropOldest`]) for a tenant that has none itself.
//!
//! # Time
//! All moments are [`Duration`](std::time::Duration)s on one clock of the caller's choice. It should be
//! monotonic; one that steps back spoils no law, only ages and the measured rate. Give the shell a
//! coarse one (`CLOCK_MONOTONIC_COARSE`): it is read at each wait and hand-over.
//!
//! ```
//! use std::time::Duration;
//! use fair_queue::{Class, FairQueue, Settings, Work};
//!
//! let settings = Settings { limit: 2, quantum: 100, max_cost: 100, ..Settings::default() };
//! let queue = FairQueue::new(settings, || Duration::ZERO)?;
//! let slot = queue.try_acquire(Work::of(Class::AUTHED, 7).cost(10))?;
//! assert_eq!(queue.in_use(), 1);
//! // The work turned out to be dearer than expected.
//! slot.settle(25);
//! assert_eq!(queue.in_use(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ages;
mod bug;
mod drain;
mod flows;
mod index;
mod items;
mod moment;
mod prefetch;
mod queue;
mod rounds;
mod settings;
mod shell;
mod snapshot;
mod sync;
mod work;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, any(loom, shuttle)))]
mod rerun;
#[cfg(all(test, shuttle, not(loom)))]
mod schedules;
#[cfg(all(test, not(any(loom, shuttle))))]
mod testing;

pub use ages::{AGE_BUCKETS, Ages};
pub use items::Handle;
pub use queue::{Account, Dispatched, Queue};
pub use settings::{
    Class, ClassSpec, MAX_CLASSES, MAX_ITEMS, MAX_LIMIT, MAX_QUANTUM, MAX_WEIGHT, Overflow,
    Settings, SettingsError,
};
pub use shell::{Acquire, FairQueue, Slot};
pub use snapshot::{ClassView, Snapshot, TenantView};
pub use work::{Refused, Work};
