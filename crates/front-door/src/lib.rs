//! The HTTP door of a service: TLS, HTTP/1.1 and HTTP/2, PROXY protocol, bounds and timeouts, drain.

mod budget;
mod connection;
mod door;
mod h1;
mod h2;
mod line;
mod proxy;
mod pulse;
pub mod reference;
mod reminder;
mod reply;
mod sealed;
mod service;
mod settings;
mod socket;
mod taken;
pub mod text;
mod tls;
mod upload;

pub use door::{Porch, serve};
pub use h1::{Upgrade, Upgraded};
pub use http1_wire::spare::forget as forget_spare_buffers;
pub use reminder::Reminder;
pub use sealed::Sealed;
pub use service::{Fault, InPlace, Protocol, Service, Visit};
pub use settings::{DoorSettings, ProxyProtocol, Timeouts};
pub use socket::poll_sip_of;
pub use tls::{
    CertificateFiles, ClientCertificate, ClientCertificates, KeyExchange, Session, Tls, TlsError,
    TlsFacts, TlsFiles,
};
pub use upload::{Upload, UploadError};

#[cfg(test)]
mod tests;
