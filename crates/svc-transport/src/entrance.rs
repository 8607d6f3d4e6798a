//! Who is let in at a door, and what becomes of those inside when it is full or closes.

use std::net::SocketAddr;
use std::sync::Arc;

use front_door::{Porch, Protocol, Reminder, Visit};
use http_rules::forward::Forwarding;
use kernel::drain::Stage;
use kernel::limits;
use kernel::net::TcpStream;
use kernel::serve::{CONNECTION_TASK, Door, Hall, Host, Stay};
use kernel::shutdown::Shutdown;
use kernel::tasks::Spawner;
use kernel::tree::{Context, Failure};
use tokio::sync::Notify;

use crate::connection::Connection;
use crate::transport::{Plan, Settings, Transport};

/// Which of the two kinds of door.
pub(crate) type Which = fn(&Plan) -> &Arc<Settings>;

/// Serves a door until told to end: then what came in is answered, and it returns.
pub(crate) async fn serve(
    context: Context,
    door: Arc<Door>,
    transport: Arc<Transport>,
    which: Which,
) -> Result<(), Failure> {
    let bounds = transport.plan().text.limits.clone();
    let hall = Hall::new(&context, &door, bounds.connections);
    let house = House {
        porch: Porch::new(&context, &door, bounds.handshakes),
        transport,
        shutdown: context.kernel.shutdown.clone(),
        end: context.spec.phase.stage(),
        crowded: Notify::new(),
    };
    let entrance = Entrance {
        house: Arc::new(house),
        connections: context.tasks.kind(&CONNECTION_TASK),
        which,
    };
    hall.receive(&context, &door, &entrance).await?;
    hall.empty().await;
    Ok(())
}

/// What all connections of a door share.
pub(crate) struct House {
    pub(crate) transport: Arc<Transport>,
    porch: Porch,
    shutdown: Shutdown,
    end: Stage,
    /// Called while somebody waits for a place: who only holds one gives it up.
    pub(crate) crowded: Notify,
}

impl House {
    /// Waits until everybody has to leave. What was on its way until then is still heard.
    pub(crate) async fn told_to_leave(&self) {
        self.shutdown.reached(self.end).await;
        tokio::time::sleep(limits::LAST_LOOK).await;
    }
}

struct Entrance {
    house: Arc<House>,
    connections: Spawner,
    which: Which,
}

impl Entrance {
    fn settings(&self) -> Arc<Settings> {
        (self.which)(&self.house.transport.plan()).clone()
    }
}

impl Host for Entrance {
    fn admits(&self, peer: SocketAddr) -> bool {
        let rate = self.settings().accept_rate;
        self.house.porch.may_come(peer.ip(), rate)
    }

    fn welcome(&self, stream: TcpStream, peer: SocketAddr, stay: Stay) {
        let (house, settings) = (self.house.clone(), self.settings());
        self.connections.spawn(async move {
            let _stay = stay;
            introduce(house, settings, stream, peer).await;
        });
    }

    fn crowded(&self) {
        self.house.crowded.notify_waiters();
    }
}

/// TLS, where it is spoken, and then the frames. Each is boxed: nobody should keep room for what is not needed.
async fn introduce(
    house: Arc<House>,
    settings: Arc<Settings>,
    stream: TcpStream,
    peer: SocketAddr,
) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let mut visit = Visit {
        peer,
        hop: peer,
        local,
        tls: None,
        protocol: Protocol::H2,
        forwarding: Forwarding::new(peer.ip(), settings.tls.is_some()),
        reminder: Reminder::none(),
    };
    let Some(tls) = &settings.tls else {
        let connection = Connection::new(stream, house, settings, visit);
        return Box::pin(connection.live()).await;
    };
    let shaken = house.porch.shake_hands(stream, tls, settings.handshake);
    if let Some((stream, facts)) = Box::pin(shaken).await {
        visit.tls = Some(Arc::new(facts));
        let connection = Connection::new(stream, house, settings, visit);
        Box::pin(connection.live()).await;
    }
}
