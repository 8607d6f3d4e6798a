//! The HTTP door of a service: TLS, HTTP/1.1 and HTTP/2, PROXY protocol, bounds and timeouts, drain.

mod canned;
mod connection;
mod door;
mod h1;
mod head;
mod line;
mod pulse;
pub mod reference;
mod reply;
mod service;
mod settings;
mod socket;
mod upload;

pub use door::serve;
pub use service::{Fault, Protocol, Service, Visit};
pub use settings::{DoorSettings, ProxyProtocol, Timeouts};
pub use tls::TlsFacts;
pub use upload::{Upload, UploadError};

mod tls;

#[cfg(test)]
mod tests;
