//! What goes wrong, when, and for how long: drawn from the seed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::{Instant, sleep};

use crate::config::{self, EDGE, FRAMES, HTTP, ORIGINS, WORKERS};
use crate::crowd;
use crate::judge;
use crate::network::Reach;
use crate::operator;
use crate::origin::Mood;
use crate::world::World;

/// A worker that has taken over what another one died with has long ended it by then.
const BETWEEN_KILLS: Duration = Duration::from_secs(4);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    GatewayWorkers,
    TransportWorkers,
    Origin(Mood),
    Unreachable(Reach),
    Flapping,
    CutClients,
    CutOrigins,
    Reload,
    BadReload,
    Clock,
    Burst,
    Contention,
}

const FAULTS: [(Fault, &str); 15] = [
    (Fault::GatewayWorkers, "workers of the gateway killed"),
    (Fault::TransportWorkers, "workers of the transport killed"),
    (Fault::Origin(Mood::Slow), "origin slow"),
    (Fault::Origin(Mood::Silent), "origin silent"),
    (Fault::Origin(Mood::Failing), "origin answers 503"),
    (
        Fault::Origin(Mood::Breaking),
        "origin breaks off its answers",
    ),
    (
        Fault::Unreachable(Reach::Refused),
        "origin refuses connections",
    ),
    (Fault::Unreachable(Reach::Hole), "origin in a black hole"),
    (Fault::Flapping, "origin comes and goes"),
    (Fault::CutClients, "connections of clients cut"),
    (Fault::CutOrigins, "connections to origins cut"),
    (Fault::Reload, "config reloaded"),
    (Fault::BadReload, "bad config refused"),
    (Fault::Clock, "wall clock stepped"),
    (Fault::Burst, "one tenant asks for everything"),
];

/// One thing after the other until then, with calm between; the fair shares are looked at once in each period.
pub(crate) async fn befall(world: &Arc<World>, seed: u64, until: Instant) {
    let mut chance = Rng::with_seed(seed);
    let mut drawn = FAULTS.to_vec();
    chance.shuffle(&mut drawn);
    drawn.insert(0, (Fault::Contention, "two tenants ask for everything"));
    for (fault, name) in drawn.into_iter().cycle() {
        sleep(Duration::from_millis(chance.u64(25_000..60_000))).await;
        if Instant::now() >= until {
            return;
        }
        {
            let mut books = world.books();
            books.did(name);
            books.note(world.at_ms());
        }
        happen(world, fault, &mut chance).await;
        judge::recovered(world, name).await;
        judge::bounded(world);
    }
}

async fn happen(world: &Arc<World>, fault: Fault, chance: &mut Rng) {
    let time = Duration::from_millis(chance.u64(3_000..25_000));
    let origin = *chance.choice(&ORIGINS).expect("there are some");
    match fault {
        Fault::GatewayWorkers | Fault::TransportWorkers => kill(world, fault, chance).await,
        Fault::Origin(mood) => in_a_mood(world, origin, mood, time).await,
        Fault::Unreachable(reach) => out_of_reach(world, origin, reach, time).await,
        Fault::Flapping => {
            for _ in 0..4 {
                out_of_reach(world, origin, Reach::Refused, time / 8).await;
                sleep(time / 8).await;
            }
        }
        Fault::CutClients => {
            let doors = [HTTP, FRAMES, EDGE];
            cut(world, doors, chance).await;
        }
        Fault::CutOrigins => cut(world, ORIGINS, chance).await,
        Fault::Reload => reload(world, chance).await,
        Fault::BadReload => bad_reload(world, chance).await,
        Fault::Clock => {
            let hours = Duration::from_secs(chance.u64(1..30) * 3600);
            let now = kernel::clock::unix_time();
            let stepped = if chance.bool() {
                now + hours
            } else {
                now - hours
            };
            kernel::clock::set_unix_time(stepped);
        }
        Fault::Burst => {
            let _trouble = world.trouble();
            let tenant = chance
                .choice(["silver", "bronze", ""])
                .expect("there are some");
            crowd::burst(world, tenant, time / 2).await;
        }
        Fault::Contention => {
            let _trouble = world.trouble();
            crowd::contend(world).await;
        }
    }
}

/// Not a trouble of the whole: what may be repeated must not notice.
async fn kill(world: &Arc<World>, fault: Fault, chance: &mut Rng) {
    for _ in 0..chance.u32(1..4) {
        let workers = chance.usize(1..=WORKERS / 2);
        world.state().last_kill = Some(Instant::now() + Duration::from_secs(1));
        match fault {
            Fault::GatewayWorkers => operator::kill_gateway_workers(world, workers).await,
            _ => operator::kill_transport_workers(world, workers).await,
        }
        sleep(BETWEEN_KILLS).await;
    }
}

async fn in_a_mood(world: &Arc<World>, origin: SocketAddr, mood: Mood, time: Duration) {
    let _trouble = world.trouble();
    world.state().moods.insert(origin, mood);
    sleep(time).await;
    world.state().moods.remove(&origin);
    // Who waits for what will never come lets go.
    world.net.cut(origin, 1.0);
    judge::recovered(world, "an origin's mood").await;
}

async fn out_of_reach(world: &Arc<World>, origin: SocketAddr, reach: Reach, time: Duration) {
    let _trouble = world.trouble();
    world.net.set_reach(origin, reach);
    if reach == Reach::Refused {
        world.net.cut(origin, 1.0);
    }
    sleep(time).await;
    world.net.set_reach(origin, Reach::Well);
    // What fell into the hole does not come out of it.
    world.net.cut(origin, 1.0);
    judge::recovered(world, "an origin out of reach").await;
}

async fn cut<const N: usize>(world: &Arc<World>, ends: [SocketAddr; N], chance: &mut Rng) {
    let _trouble = world.trouble();
    for _ in 0..chance.u32(1..4) {
        let part = chance.f64();
        ends.iter().for_each(|end| {
            world.net.cut(*end, part);
        });
        sleep(Duration::from_millis(chance.u64(10..3_000))).await;
    }
}

fn generation(world: &World) -> i64 {
    let registry = &world.kernel.registry;
    registry.gauge(&kernel::config::GENERATION, &[]).get()
}

/// Nobody may notice.
async fn reload(world: &Arc<World>, chance: &mut Rng) {
    let before = generation(world);
    let text = config::text(chance.u64(..));
    let same = **world.config.load() == text;
    world.config.store(Arc::new(text));
    operator::reload(world).await;
    sleep(Duration::from_secs(5)).await;
    let after = generation(world);
    if after != before + i64::from(!same) {
        world.violated(format!("a good config took generation {before} to {after}"));
    }
}

/// Nobody may notice, and nothing of it may be in force.
async fn bad_reload(world: &Arc<World>, chance: &mut Rng) {
    let (before, good) = (generation(world), world.config.load_full());
    world.config.store(Arc::new(config::bad(chance.u64(..))));
    operator::reload(world).await;
    sleep(Duration::from_secs(5)).await;
    let after = generation(world);
    if after != before {
        world.violated(format!("a bad config took generation {before} to {after}"));
    }
    world.config.store(good);
}
