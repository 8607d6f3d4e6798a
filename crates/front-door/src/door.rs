//! A door's life as a child: who is let in, and what happens to those inside when it closes.

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use kernel::clock::Timeline;
use kernel::limits;
use kernel::metrics::{Counter, Kind, MetricSpec};
use kernel::serve::{CONNECTION_TASK, Door, Hall, Host, Stay};
use kernel::tasks::{Spawner, panic_message};
use kernel::tree::{Context, Failure};
use rate_quota::{Quota, Rate};
use tokio::net::TcpStream;

use crate::connection;
use crate::line::{Desk, Refuse, TimeoutCounters};
use crate::pulse::{Clockwork, Pulse};
use crate::service::{Fault, Service, Visit};
use crate::settings::DoorSettings;
use crate::upload::Upload;

/// Connections closed before they were heard.
pub(crate) static TURNED_AWAY: MetricSpec = MetricSpec {
    name: "connections_turned_away_total",
    kind: Kind::Counter,
    labels: &["door", "reason"],
    help: "Connections closed before a request: too many from one address, handshakes at once, a bad PROXY header",
};

/// Addresses whose rate is remembered at once; a table of fixed size.
const ADDRESSES: usize = 16 * 1024;

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
    let house = Arc::new(House::new(&context, &door, service));
    let entrance = Entrance {
        house: house.clone(),
        settings,
        connections: context.tasks.kind(&CONNECTION_TASK),
    };
    let living = async {
        hall.receive(&context, &door, &entrance).await?;
        house.closing.store(true, Ordering::Relaxed);
        // A request already on its way is answered.
        tokio::time::sleep(limits::LAST_LOOK).await;
        house.desk.clock.dismiss();
        hall.empty().await;
        Ok(())
    };
    tokio::select! {
        ended = living => ended,
        () = house.desk.clock.run() => Ok(()),
    }
}

/// What all connections of a door share.
pub(crate) struct House<S> {
    pub(crate) service: Arc<S>,
    pub(crate) desk: Arc<Desk>,
    closing: AtomicBool,
    too_fast: Counter,
    timeline: Timeline,
    quota: ArcSwapOption<Quota>,
}

/// The service panicked; its log says how.
pub(crate) struct Panicked;

impl<S: Service> House<S> {
    fn new(context: &Context, door: &Door, service: Arc<S>) -> Self {
        let registry = &context.kernel.registry;
        let desk = Desk {
            clock: Arc::new(Clockwork::new()),
            timeouts: TimeoutCounters::new(registry),
            refusals: Arc::new(Refusals(service.clone())),
        };
        let turned_away = |reason| registry.counter(&TURNED_AWAY, &[door.name(), reason]);
        Self {
            service,
            desk: Arc::new(desk),
            closing: AtomicBool::new(false),
            too_fast: turned_away("rate"),
            timeline: context.kernel.timeline,
            quota: ArcSwapOption::empty(),
        }
    }

    /// Whether no more requests are wanted on the connections there are.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// One request; a panic is one bad answer, not a lost connection.
    pub(crate) async fn call(
        &self,
        request: Request<Upload>,
        visit: &Visit,
    ) -> Result<Response<S::Body>, Panicked> {
        let called = AssertUnwindSafe(async { self.service.call(request, visit).await });
        called.catch_unwind().await.map_err(|payload| {
            let reason = panic_message(&*payload);
            tracing::error!(reason, "a service panicked");
            Panicked
        })
    }

    /// Whether this address may open one more connection.
    pub(crate) fn may_come(&self, address: IpAddr, rate: Option<Rate>) -> bool {
        let Some(rate) = rate else { return true };
        let mut quota = self.quota.load_full();
        if quota.as_ref().is_none_or(|quota| quota.rate() != rate) {
            quota = Some(Arc::new(Quota::new(rate, ADDRESSES)));
            self.quota.store(quota.clone());
        }
        let now = self.timeline.now();
        let allowed = quota.is_none_or(|quota| quota.check(source(address), 1, now).is_ok());
        if !allowed {
            self.too_fast.inc();
        }
        allowed
    }
}

/// Who is behind an address: whoever has one of IPv6 has a whole /64 of them.
fn source(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => u64::from(u32::from(address)),
        // No address of IPv4 has a bit above the lowest 32.
        IpAddr::V6(address) => ((u128::from(address) >> 64) as u64) | 1 << 63,
    }
}

struct Refusals<S>(Arc<S>);

impl<S: Service> Refuse for Refusals<S> {
    fn refuse(&self, fault: Fault, visit: &Visit) -> Response<Bytes> {
        self.0.refuse(fault, visit)
    }
}

struct Entrance<S, F> {
    house: Arc<House<S>>,
    settings: F,
    connections: Spawner,
}

impl<S, F> Host for Entrance<S, F>
where
    S: Service,
    F: Fn() -> Arc<DoorSettings> + Send + Sync + 'static,
{
    fn admits(&self, peer: SocketAddr) -> bool {
        let settings = (self.settings)();
        self.house.may_come(peer.ip(), settings.accept_rate)
    }

    fn welcome(&self, stream: TcpStream, peer: SocketAddr, stay: Stay) {
        // Seen by the clockwork before its task has run: nobody is overlooked by a drain.
        let pulse = Pulse::new();
        self.house.desk.clock.watch(pulse.clone());
        let (house, settings) = (self.house.clone(), (self.settings)());
        self.connections
            .spawn(connection::live(house, settings, stream, peer, pulse, stay));
    }

    fn crowded(&self) {
        self.house.desk.clock.make_room();
    }
}
