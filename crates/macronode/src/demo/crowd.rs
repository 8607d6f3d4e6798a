//! The demonstration's crowd: three tenants that ask the gateway for more than there is, one of them for far more, and
//! a line each second of who got what and why.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kernel::config::Live;
use kernel::drain::Phase;
use kernel::lock::LockSpec;
use kernel::tasks::TaskKind;
use kernel::tree::{Child, ChildSpec, Context, Failure, Restart};
use svc_gateway::Gateway;
use tokio::time::MissedTickBehavior;

use super::config::CrowdText;
use crate::config::Settings;
use tally::Tally;
use visitor::Visitor;

mod shares;
mod tally;
mod visitor;

/// The crowd.
pub(crate) static CROWD: ChildSpec = ChildSpec {
    name: "demo.crowd",
    doc: "plays three tenants at the gateway's door and says each second who got what and why",
    depends_on: &["gateway.http", "demo.origin"],
    phase: Phase::Intake,
    restart: Restart::Always,
    essential: false,
};
/// The task of one request.
pub(crate) static VISIT: TaskKind = TaskKind {
    name: "demo_visit",
    doc: "one request of the demonstration's crowd",
};
/// Guards what a tenant of the crowd keeps between requests.
pub(crate) static DESK: LockSpec = LockSpec {
    name: "demo_desk",
    level: 64,
    doc: "unused connections of a tenant of the demonstration's crowd, and what came of its requests",
};

/// A tenant of the crowd.
struct Tenant {
    name: &'static str,
    /// As the built-in config has it.
    weight: u32,
    asks: Asks,
}

/// How much a tenant asks for.
enum Asks {
    /// This part of what the origin can do.
    Part(f64),
    /// As many times of it as the config says.
    Noise,
}

static TENANTS: [Tenant; 3] = [
    Tenant {
        name: "gold",
        weight: 3,
        asks: Asks::Part(0.75),
    },
    Tenant {
        name: "calm",
        weight: 1,
        asks: Asks::Part(0.125),
    },
    Tenant {
        name: "noisy",
        weight: 1,
        asks: Asks::Noise,
    },
];

/// No tenant asks more often each second: a demonstration must not be a burden.
const MOST_ASKED: f64 = 1_000.0;
const TICK: Duration = Duration::from_millis(20);
const TICKS_PER_REPORT: u32 = 50;

/// The crowd in front of the gateway's door.
pub(crate) fn child(
    text: &CrowdText,
    door: SocketAddr,
    live: &Live<Settings>,
    gateway: &Arc<Gateway>,
) -> Child {
    let (capacity, live, gateway) = (text.capacity(), live.clone(), gateway.clone());
    Child::new(&CROWD, move |context| {
        crowd(context, door, capacity, live.clone(), gateway.clone())
    })
}

async fn crowd(
    context: Context,
    door: SocketAddr,
    capacity: f64,
    live: Live<Settings>,
    gateway: Arc<Gateway>,
) -> Result<(), Failure> {
    context.ready.ready();
    let visits = context.tasks.kind(&VISIT);
    let visitors = TENANTS
        .each_ref()
        .map(|tenant| Arc::new(Visitor::new(tenant.name, door)));
    let (mut owed, mut ticks) = ([0.0; TENANTS.len()], 0);
    let mut clock = tokio::time::interval(TICK);
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = context.told_to_end() => return Ok(()),
            _ = clock.tick() => {}
        }
        let noise = super::settings(&live).map_or(0, |demo| demo.noise);
        let asked = TENANTS
            .each_ref()
            .map(|tenant| tenant.per_second(capacity, noise));
        for ((owed, asked), visitor) in owed.iter_mut().zip(asked).zip(&visitors) {
            *owed += asked * TICK.as_secs_f64();
            while *owed >= 1.0 {
                *owed -= 1.0;
                if visitor.comes() {
                    visits.spawn(visitor.clone().visit());
                }
            }
        }
        ticks += 1;
        if ticks >= TICKS_PER_REPORT && noise > 0 {
            ticks = 0;
            report(
                &visitors.each_ref().map(|visitor| visitor.tally()),
                &gateway,
            );
        }
    }
}

impl Tenant {
    fn per_second(&self, capacity: f64, noise: u32) -> f64 {
        let times = match self.asks {
            _ if noise == 0 => 0.0,
            Asks::Part(part) => part,
            Asks::Noise => f64::from(noise),
        };
        (times * capacity).min(MOST_ASKED)
    }
}

fn report(tallies: &[Tally; TENANTS.len()], gateway: &Gateway) {
    let view = gateway.view();
    let upstream = view.upstreams.first();
    let demands: Vec<_> = tallies
        .iter()
        .zip(&TENANTS)
        .map(|(tally, tenant)| (tally.asked() as f64, tenant.weight))
        .collect();
    let served: u64 = tallies.iter().map(|tally| tally.served()).sum();
    let due = shares::due(&demands, served as f64);
    let words = |index: usize| tallies[index].words(served, due[index]);
    tracing::info!(
        gold = words(0),
        calm = words(1),
        noisy = words(2),
        limit_found = upstream.map_or(0, |upstream| upstream.limit),
        waiting = upstream.map_or(0, |upstream| upstream.waiting),
        "who got what in the last second"
    );
}
