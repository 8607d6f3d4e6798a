//! Pools of upstream endpoints: balancing, health, breakers, slow start, DNS, and the connections themselves.
//!
//! A [`Pool`] is told what it should be ([`PoolSpec`]) and lives as a child of the supervisor ([`Pool::run`]). A
//! request takes three steps: [`Pool::pick`] chooses an endpoint and counts the request in, [`Pick::ready`] takes a
//! connection, [`Ready::send`] sends. The [`Reply`] that comes back is the response's body; its end counts the request
//! out, tells the endpoint's breaker and latency, and gives the connection back.

mod allow;
mod balance;
mod channel;
mod cost;
mod dial;
mod doubt;
mod endpoint;
mod error;
mod fault;
mod h2;
mod health;
mod idle;
mod io;
mod lease;
mod line;
mod members;
mod meters;
mod outgoing;
mod pick;
mod pool;
mod record;
mod reply;
mod resolve;
mod run;
mod spec;
mod switched;
pub mod tables;
mod tls;
mod tried;
mod upload;
mod view;

pub use allow::Allow;
pub use balance::hash_key;
pub use endpoint::EndpointId;
pub use error::{Cause, SendError, Stage};
pub use http1_wire::{Ask, Field};
pub use io::Lent;
pub use outgoing::BoxError;
pub use pick::{Pick, Ready, Timing};
pub use pool::{NoEndpoint, Pool};
pub use reply::Reply;
pub use run::Standing;
pub use spec::{BadEndpoint, Balance, EndpointSpec, Health, PoolSpec, Protocol, passive};
pub use switched::Switched;
pub use tls::{ClientTls, TlsError, TlsText};
pub use tried::Tried;
pub use view::{EndpointView, PoolView, State};
