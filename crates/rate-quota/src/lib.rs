//! Rate quotas per key: so many units in a time, with a burst, in a table of fixed size.
//!
//! # Laws
//! 1. In any span `t` a key is allowed at most `burst + t × rate` units.
//! 2. A denied check takes nothing, and allowing the same check `retry_after` later, with nothing
//!    taken in between, succeeds; a moment earlier it would not have.
//! 3. The table never grows and never refuses for being full. An entry may be evicted once its
//!    bucket is full again, when it says no more than its absence would. A key that finds no place
//!    shares the overflow bucket of its set, and takes that bucket's debt along when it gets a
//!    place of its own: so law 1 holds for it too, and only strangers in a crowded set feel each
//!    other.
//! 4. A check allocates nothing and takes no lock, except a short one for a key that is new.
//!
//! `now` is the caller's: a monotonic clock, which may be coarse, since a check rounds nothing. It
//! must not start over while the table lives.
//!
//! # Why not `governor`
//! Its keyed limiter is the same algorithm over a concurrent map. The map grows with every key seen
//! until `retain_recent` walks it, and a check pays for the map's hash, shard lock and probe. Here a
//! key is one word of state in a set of two cache lines; `cargo xtask bench quota` measures both in
//! the same run, and on the machine this was written on a check took about half of `governor`'s
//! time with the clock left out on both sides. That, and the bound on memory, is why it is not
//! underneath.
//!
//! ```
//! use std::time::Duration;
//! use rate_quota::{Quota, Rate};
//!
//! let rate = Rate::new(10, Duration::from_secs(1))?.burst(2)?;
//! let quota = Quota::new(rate, 10_000);
//! let now = Duration::from_secs(5);
//! assert_eq!(quota.check(7, 1, now)?.remaining(), 1);
//! assert_eq!(quota.check(7, 1, now)?.remaining(), 0);
//! let denied = quota.check(7, 1, now).unwrap_err();
//! assert_eq!(denied.retry_after(), Some(Duration::from_millis(100)));
//! assert!(quota.check(8, 1, now).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bug;
mod quota;
mod rate;
mod set;
mod sync;

#[cfg(all(test, loom))]
mod models;

pub use quota::{Quota, check_all};
pub use rate::{Allowed, Denied, Rate, RateError};
