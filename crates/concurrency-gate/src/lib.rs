//! Concurrency limits per key: how many may be inside, how many may wait, and for how long.
//!
//! A key is anything that hashes: an opcode, a route, a tenant. Look its [`KeyHandle`] up once,
//! then enter by it; a [`Lease`] is the slot, and its end is the release.
//!
//! ```
//! use concurrency_gate::{Gate, GateConfig, Limit, Reason};
//! use std::time::Duration;
//!
//! let gate = Gate::new(GateConfig::new(Limit::fixed(64)))?;
//! let upload = gate.register("upload", Limit::fixed(1).with_queue(32))?;
//!
//! // Time is the caller's: a duration since any fixed moment.
//! let now = Duration::from_secs(7);
//! let lease = upload.try_enter(now)?;
//! let refused = upload.try_enter(now).unwrap_err();
//! assert_eq!(refused.reason(), Reason::Saturated);
//! println!("try again in {:?}", refused.retry_after());
//!
//! lease.success(now + Duration::from_millis(12));
//! assert!(upload.try_enter(now).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Laws
//! - **Limit.** At no admission are more inside than the limit. Lowering it sends nobody away and
//!   admits nobody until enough have left; raising it lets waiters in at once.
//! - **Order.** Waiters are served in the order of their arrival. A slot given back while somebody
//!   waits is handed over; nobody overtakes.
//! - **Bounds.** At most `queue_max` wait, and a free slot is never refused for a full queue. Keys
//!   are capped; those beyond share entries, two each, and are not refused for it.
//! - **Release.** A lease gives its slot back exactly once: by [`success`](Lease::success),
//!   [`failure`](Lease::failure), [`ignore`](Lease::ignore), by being dropped, by a panic. A
//!   dropped waiter leaves the line, or passes on the slot it had just been given.
//! - **Breaker.** It hears of admitted work only. Refusals, timeouts in line and cancelled callers
//!   cannot open it, and it shuts its own key only. Dropping a lease says nothing about the work,
//!   unless a panic drops it, which is a failure.
//! - **Eviction.** An entry that anybody can reach (by a handle, a lease, a place in line) is not
//!   evicted, so two entries of one key never admit. What was set by hand is not forgotten.
//! - **Cost.** Entering and leaving are one atomic step each, without a lock or an allocation as
//!   long as nobody has to wait. A refusal is a number, not text.
//!
//! The machines inside ([`Breaker`], [`Adaptive`]) are pure: they are told the time and outcomes,
//! and answer. Nothing here reads a clock, spawns a task or logs. With the feature `tokio` (on by
//! default) [`KeyHandle::enter`] brings its own timer; without it, [`KeyHandle::wait`] is a plain
//! future for any executor. The feature `tower` adds a layer and a service.
//!
//! # Waiting
//! ```
//! # #[cfg(feature = "tokio")]
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! use concurrency_gate::{Gate, GateConfig, Limit, Reason};
//! use std::time::Duration;
//!
//! let limit = Limit::fixed(1).with_queue(8).with_wait_timeout(Duration::from_millis(5));
//! let gate = Gate::new(GateConfig::new(limit)).expect("a good limit");
//! let now = Duration::ZERO;
//! let key = gate.handle(&"tenant 7", now);
//!
//! let held = key.enter(now, None).await.expect("the first one in");
//! let late = key.enter(now, None).await.unwrap_err();
//! assert_eq!(late.reason(), Reason::Deadline);
//! # drop(held);
//! # });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adaptive;
mod breaker;
mod bug;
#[cfg(feature = "tokio")]
mod enter;
mod entry;
mod gate;
mod handle;
mod histogram;
mod keep;
#[cfg(feature = "tower")]
mod layer;
mod lazy;
mod lease;
mod limit;
mod line;
mod notice;
mod rejection;
mod report;
mod seat;
mod statistics;
mod sync;
mod table;
mod tally;
mod wait;
mod word;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, shuttle, not(loom)))]
mod schedules;

pub use adaptive::{Adaptive, Bounds, Policy, Sample};
pub use breaker::{Breaker, BreakerConfig, BreakerState, Outcome, Passage, Trip};
#[cfg(feature = "tokio")]
pub use enter::Enter;
pub use gate::{Gate, GateConfig, GateError};
pub use handle::KeyHandle;
pub use histogram::Quantiles;
#[cfg(feature = "tower")]
pub use layer::{GateLayer, GateService, Gated, GatedError};
pub use lease::Lease;
pub use limit::{Limit, LimitError, WAIT_TIMEOUT};
pub use notice::{Advice, Control, NOTICE_INTERVAL, Notice, NoticeReason, Notices};
pub use rejection::{Reason, Rejection};
pub use report::{KeyReport, Report, TOP, Whose};
pub use statistics::{Rejected, Statistics};
pub use table::Swept;
pub use wait::Wait;
