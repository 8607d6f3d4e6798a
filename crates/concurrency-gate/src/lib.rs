//! Concurrency limits per key: how many may be inside, how many may wait, and for how long.

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
mod statistics;
mod sync;
mod table;
mod tally;
mod wait;
mod word;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, any(loom, shuttle)))]
mod rerun;
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
