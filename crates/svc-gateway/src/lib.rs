//! The gateway: admission before work, fairness over tenants, deadlines, retries within a budget, drains.
//!
//! [`request`] is the story of a request; every other file is one of its steps, or keeps what outlives it.

mod admit;
mod backend;
mod body;
mod budget;
mod caller;
#[cfg(feature = "chaos")]
mod chaos;
pub mod config;
mod dispatch;
mod forward;
mod gates;
mod gateway;
mod heads;
mod intake;
mod journey;
mod keeper;
mod kept;
mod keys;
mod labels;
mod ledger;
mod live;
pub mod metrics;
mod naming;
mod outbound;
mod overstay;
mod own_names;
mod plan;
mod policy;
mod quota;
mod reject;
mod request;
mod respond;
mod rewrite;
mod routes;
mod shared;
mod slots;
mod split;
mod streams;
pub mod tree;
mod tunnel;
pub mod view;
mod wall;

pub use body::{Answer, BrokenOff};
pub use caller::Claim;
pub use gateway::Gateway;
pub use live::{GateView, Override, Unknown};
pub use reject::{Reason, reasons};
