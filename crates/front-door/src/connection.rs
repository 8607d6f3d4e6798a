//! The story of a connection: who it is, what it speaks, and then its requests until it ends.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use kernel::serve::Stay;
use tokio::net::TcpStream;

use crate::door::House;
use crate::h1::{self, Wire};
use crate::line::{Line, Patience};
use crate::pulse::Pulse;
use crate::service::{Protocol, Service, Visit};
use crate::settings::DoorSettings;
use crate::socket::Socket;

/// From the first byte to the last.
pub(crate) async fn live<S: Service>(
    house: Arc<House<S>>,
    settings: Arc<DoorSettings>,
    stream: TcpStream,
    peer: SocketAddr,
    pulse: Arc<Pulse>,
    stay: Stay,
) {
    let patience = Patience::new(&settings);
    pulse.read.set(&house.desk.clock, patience.head);
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let line = Arc::new(Line {
        desk: house.desk.clone(),
        pulse,
        patience,
        visit: Visit {
            peer,
            hop: peer,
            local,
            tls: None,
            protocol: Protocol::H1,
        },
    });
    let wire = Wire::new(
        Socket::Plain(stream),
        Bytes::new(),
        line,
        settings.head_bytes.max(8192),
        stay,
    );
    h1::serve(house, wire).await;
}
