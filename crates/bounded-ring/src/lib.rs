//! Bounded rings and counted slots: nothing here grows, and whoever waits is woken.
//!
//! | type | when full |
//! |---|---|
//! | [`RejectNew`] | the new item is given back |
//! | [`DropOldest`] | the oldest item is given back |
//! | [`Coalesce`] | a pending item of the same key is replaced in place, a new key is given back |
//! | [`Slots`] | the caller is refused, or waits in line |
//!
//! Beside them a [`BriefLock`], for what takes a few instructions and must not be seen half done, and [`Calls`], by
//! which many tell one which of its charges has news.
//!
//! A push never waits and never allocates; only poppers and slot seekers wait, as plain futures
//! that need no runtime.

mod backoff;
mod brief_lock;
mod bug;
mod calls;
mod coalesce;
mod drop_oldest;
mod error;
mod line;
mod padded;
mod pop;
mod reject_new;
mod slots;
mod sync;
mod waiters;

#[cfg(test)]
#[cfg(loom)]
mod models;

pub use brief_lock::BriefLock;
pub use calls::Calls;
pub use coalesce::{Coalesce, Pushed};
pub use drop_oldest::DropOldest;
pub use error::{Closed, PushError};
pub use pop::{Pop, Ring};
pub use reject_new::RejectNew;
pub use slots::{Acquire, Idle, Permit, Slots};
