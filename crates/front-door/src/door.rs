//! A door's life as a child: who is let in, and what happens to those inside when it closes.

use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use http::Response;
use kernel::limits;
use kernel::metrics::{Counter, Kind, MetricSpec, Registry};
use kernel::net::TcpStream;
use kernel::serve::{CONNECTION_TASK, Door, Hall, Host, Stay};
use kernel::tasks::{Spawner, panic_message};
use kernel::tree::{Context, Failure};
use rate_quota::Rate;
use tokio::sync::Semaphore;

use crate::connection::Arrival;
use crate::line::{Desk, TimeoutCounters};
use crate::pulse::{Clockwork, Stance};
use crate::service::{InPlace, Service, Visit};
use crate::settings::DoorSettings;
use crate::tls::{self, GROUPS, REASONS, TlsFacts};

use comings::Comings;
pub use porch::Porch;

mod comings;
mod porch;

/// Connections cut off.
pub(crate) static CUT: MetricSpec = MetricSpec {
    name: "connections_cut_total",
    kind: Kind::Counter,
    labels: &["door", "reason"],
    help: "Connections cut off: too many from one address, a bad PROXY header, a flood of HTTP/2 frames",
};
/// Handshakes.
pub(crate) static HANDSHAKES: MetricSpec = MetricSpec {
    name: "tls_handshakes_total",
    kind: Kind::Counter,
    labels: &["door", "group", "kind"],
    help: "TLS handshakes, by key exchange, full or resumed",
};
/// Handshakes that failed.
pub(crate) static FAILURES: MetricSpec = MetricSpec {
    name: "tls_failures_total",
    kind: Kind::Counter,
    labels: &["door", "reason"],
    help: "TLS handshakes that ended in an alert or a closed connection: no key exchange, version, protocol or \
           certificate that both accept, closed, other",
};

/// How often it is looked whether others may vouch for clients.
const TRUST_EVERY: Duration = Duration::from_secs(1);

/// Why a connection is cut off.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    Rate,
    ProxyHeader,
}

/// Serves a door until told to end: then answers what came in, and returns.
///
/// `settings` is asked for each connection.
pub async fn serve<S: Service>(
    context: Context,
    door: Arc<Door>,
    settings: impl Fn() -> Arc<DoorSettings> + Send + Sync + 'static,
    service: Arc<S>,
) -> Result<(), Failure> {
    let first = settings();
    let hall = Hall::new(&context, &door, first.max_connections);
    let house = Arc::new(House::new(&context, &door, &first, service));
    let entrance = Entrance {
        house: house.clone(),
        settings,
        connections: context.tasks.kind(&CONNECTION_TASK),
    };
    let clock = &house.desk.clock;
    let vouchers = || entrance.vouchers();
    clock.trust(vouchers());
    let living = async {
        hall.receive(&context, &door, &entrance).await?;
        house.closing.store(true, Ordering::Relaxed);
        // A request already on its way is answered.
        tokio::time::sleep(limits::LAST_LOOK).await;
        clock.dismiss();
        hall.empty().await;
        Ok(())
    };
    tokio::select! {
        ended = living => ended,
        () = clock.run() => Ok(()),
        () = keep_trusting(clock, vouchers) => Ok(()),
    }
}

/// Takes over who may vouch for clients, also where nobody comes.
async fn keep_trusting(clock: &Clockwork, vouchers: impl Fn() -> u64) {
    loop {
        tokio::time::sleep(TRUST_EVERY).await;
        clock.trust(vouchers());
    }
}

/// What all connections of a door share.
pub(crate) struct House<S> {
    pub(crate) service: Arc<S>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) tls: TlsDesk,
    closing: AtomicBool,
    cut: [Counter; 2],
    comings: Comings,
}

/// The service panicked; its log says how.
pub(crate) struct Panicked;

impl<S: Service> House<S> {
    fn new(context: &Context, door: &Door, first: &DoorSettings, service: Arc<S>) -> Self {
        let registry = &context.kernel.registry;
        let cut = |reason| registry.counter(&CUT, &[door.name(), reason]);
        let desk = Desk {
            clock: Arc::new(Clockwork::new()),
            timeouts: TimeoutCounters::new(registry),
            floods: cut("flood"),
        };
        Self {
            service,
            desk: Arc::new(desk),
            tls: TlsDesk::new(registry, door.name(), first.handshakes_at_once),
            closing: AtomicBool::new(false),
            cut: [cut("rate"), cut("proxy-header")],
            comings: Comings::new(context.kernel.timeline),
        }
    }

    /// Whether no more requests are wanted on the connections there are.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// One request; a panic is one bad answer, not a lost connection.
    pub(crate) async fn call(
        &self,
        request: InPlace<'_>,
        visit: &Visit,
    ) -> Result<Response<S::Body>, Panicked> {
        let called = AssertUnwindSafe(async {
            // Pinned where it is made: awaited as it is, all it will ever hold would be copied, twice.
            let mut call = pin!(self.service.call(request, visit));
            poll_fn(|cx| call.as_mut().poll(cx)).await
        });
        called.catch_unwind().await.map_err(|payload| {
            let reason = panic_message(&*payload);
            tracing::error!(reason, "a service panicked");
            Panicked
        })
    }

    /// Whether this address may open one more connection.
    pub(crate) fn may_come(&self, address: IpAddr, rate: Option<Rate>) -> bool {
        let allowed = self.comings.may_come(address, rate);
        if !allowed {
            self.cut(Cut::Rate);
        }
        allowed
    }

    pub(crate) fn cut(&self, why: Cut) {
        self.cut[why as usize].inc();
    }
}

/// What the handshakes of a door share.
pub(crate) struct TlsDesk {
    /// Handshakes at once: they are the most costly thing a stranger can ask for.
    pub(crate) turns: Semaphore,
    failures: [Counter; REASONS.len()],
    full: [Counter; GROUPS.len()],
    resumed: [Counter; GROUPS.len()],
}

impl TlsDesk {
    fn new(registry: &Registry, door: &'static str, at_once: usize) -> Self {
        let each = |kind| GROUPS.map(|group| registry.counter(&HANDSHAKES, &[door, group, kind]));
        Self {
            turns: Semaphore::new(at_once.max(1)),
            failures: REASONS.map(|reason| registry.counter(&FAILURES, &[door, reason])),
            full: each("full"),
            resumed: each("resumed"),
        }
    }

    /// Counts a handshake that came to nothing.
    pub(crate) fn failed(&self, error: &std::io::Error) {
        self.failures[tls::reason(error)].inc();
    }

    /// Counts a handshake.
    pub(crate) fn agreed(&self, facts: &TlsFacts) {
        let counters = if facts.resumed {
            &self.resumed
        } else {
            &self.full
        };
        if let Some(group) = GROUPS.iter().position(|group| *group == facts.group) {
            counters[group].inc();
        }
    }
}

struct Entrance<S, F> {
    house: Arc<House<S>>,
    settings: F,
    connections: Spawner,
}

impl<S, F: Fn() -> Arc<DoorSettings>> Entrance<S, F> {
    fn vouchers(&self) -> u64 {
        (self.settings)().vouchers()
    }
}

impl<S, F> Host for Entrance<S, F>
where
    S: Service,
    F: Fn() -> Arc<DoorSettings> + Send + Sync + 'static,
{
    fn admits(&self, peer: SocketAddr) -> bool {
        let settings = (self.settings)();
        // Whoever speaks for others brings many; those are asked about when they are known.
        settings.proxy_protocol.trusts(peer.ip())
            || self.house.may_come(peer.ip(), settings.accept_rate)
    }

    fn welcome(&self, stream: TcpStream, peer: SocketAddr, stay: Stay) {
        let settings = (self.settings)();
        self.house.desk.clock.trust(settings.vouchers());
        let arrival = Arrival {
            house: self.house.clone(),
            settings,
            hop: peer,
            // Seen by the clockwork before its task has run: nobody is overlooked by a drain.
            pulse: self.house.desk.clock.watch(Stance::Fresh),
            stay,
        };
        self.connections.spawn(arrival.live(stream));
    }

    fn crowded(&self) {
        self.house.desk.clock.make_room();
    }
}
