//! Those who ask: tenants with their days and nights, and now and then one that asks for all there is.

use std::f64::consts::TAU;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::Client;
use crate::judge;
use crate::request::{Fate, Request, Way};
use crate::world::World;

/// Tenants and their parts of the load; without a name: whoever says nothing of itself.
const TENANTS: [(&str, f64); 5] = [
    ("gold", 0.35),
    ("silver", 0.3),
    ("bronze", 0.15),
    ("ops", 0.1),
    ("", 0.1),
];
/// At night, beside the day's peak.
const NIGHT: f64 = 0.3;
/// Of a tenant that asks for all there is.
const GREED: usize = 48;
const FAIR_LOOK: Duration = Duration::from_secs(20);
/// Closed loops of each tenant when both ask for more than there is.
const LOOPS: usize = 24;

/// What a period of load is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Season {
    pub(crate) seed: u64,
    pub(crate) until: Instant,
    /// Requests a second at the peak.
    pub(crate) rps: f64,
    /// A day is this long.
    pub(crate) day: Duration,
}

/// All tenants, until the season ends and their last request has.
pub(crate) async fn visit(world: &Arc<World>, season: Season) {
    let mut tenants = JoinSet::new();
    for (index, (tenant, part)) in TENANTS.into_iter().enumerate() {
        let seed = season.seed.wrapping_add(index as u64);
        let (world, rate) = (world.clone(), season.rps * part);
        tenants.spawn(async move {
            let mut chance = Rng::with_seed(seed);
            let client = client(&world, index as u8);
            come_and_go(&world, &client, tenant, rate, season, &mut chance).await;
            client.end().await;
        });
    }
    while tenants.join_next().await.is_some() {}
}

fn client(world: &Arc<World>, index: u8) -> Arc<Client> {
    Arc::new(Client::new(world, Ipv4Addr::new(127, 0, 1, index + 1)))
}

async fn come_and_go(
    world: &Arc<World>,
    client: &Arc<Client>,
    tenant: &'static str,
    rate: f64,
    season: Season,
    chance: &mut Rng,
) {
    let mut under_way = JoinSet::new();
    while Instant::now() < season.until && !world.state().draining {
        let day = world.began.elapsed().as_secs_f64() / season.day.as_secs_f64();
        let light = 0.5 - 0.5 * (day * TAU).cos();
        let now = rate * (NIGHT + (1.0 - NIGHT) * light);
        let gap = -(1.0 - chance.f64()).ln() / now;
        tokio::time::sleep(Duration::from_secs_f64(gap)).await;
        let request = drawn(world, tenant, chance);
        let (world, client) = (world.clone(), client.clone());
        under_way.spawn(async move {
            one(&world, &client, &request).await;
        });
        while under_way.try_join_next().is_some() {}
    }
    while under_way.join_next().await.is_some() {}
}

/// A request from its beginning to its end.
async fn one(world: &World, client: &Client, request: &Request) -> Fate {
    let began = Instant::now();
    world.books().began += 1;
    let fate = client.ask(request).await;
    judge::ended(world, request, began, &fate);
    fate
}

fn next_id(world: &World) -> u64 {
    let mut state = world.state();
    state.next_id += 1;
    state.next_id
}

fn drawn(world: &World, tenant: &'static str, chance: &mut Rng) -> Request {
    let id = next_id(world);
    let way = match chance.u32(0..10) {
        0..4 => Way::H1,
        4..6 => Way::H2,
        6..9 => Way::Frames,
        _ => Way::Edge,
    };
    if way == Way::Edge {
        let zoom = chance.u32(0..4);
        let (x, y) = (chance.u32(0..1 << zoom), chance.u32(0..1 << zoom));
        return Request {
            path: format!("/tiles/world/{zoom}/{x}/{y}"),
            ..asked(id, tenant, way, chance)
        };
    }
    let mut request = asked(id, tenant, way, chance);
    request.upload = (chance.u32(0..5) == 0).then(|| chance.usize(0..40_000));
    request
}

fn asked(id: u64, tenant: &'static str, way: Way, chance: &mut Rng) -> Request {
    let (ms, bytes) = (chance.u64(5..120), size(chance));
    let route = if chance.u32(0..6) == 0 { "side" } else { "w" };
    let leaves = chance.u32(0..33) == 0;
    Request {
        id,
        tenant,
        way,
        path: format!("/{route}/{id}?ms={ms}&n={bytes}"),
        bytes,
        upload: None,
        leaves_after: leaves.then(|| Duration::from_millis(chance.u64(0..200))),
    }
}

/// Mostly small, sometimes more than any buffer on the way.
fn size(chance: &mut Rng) -> usize {
    match chance.u32(0..20) {
        0 => chance.usize(64_000..200_000),
        _ => chance.usize(1..3_000),
    }
}

/// A tenant that asks for all there is, without leaving room for others.
pub(crate) async fn burst(world: &Arc<World>, tenant: &'static str, time: Duration) {
    let until = Instant::now() + time;
    closed_loops(world, tenant, 60, GREED, until).await;
}

/// Two tenants of one class, weights 3 and 1, both with more to ask than there is to have: each gets its part.
pub(crate) async fn contend(world: &Arc<World>) {
    let until = Instant::now() + FAIR_LOOK;
    let (gold, silver) = tokio::join!(
        closed_loops(world, "gold", 61, LOOPS, until),
        closed_loops(world, "silver", 62, LOOPS, until),
    );
    let ratio = gold as f64 / silver.max(1) as f64;
    if !(2.4..=3.6).contains(&ratio) {
        world.violated(format!(
            "gold was served {gold} times and silver {silver}: {ratio:.2} instead of 3"
        ));
    }
    world.books().note(gold);
    world.books().note(silver);
}

/// So many who ask again as soon as they are answered; says how often that was well.
async fn closed_loops(
    world: &Arc<World>,
    tenant: &'static str,
    index: u8,
    loops: usize,
    until: Instant,
) -> u64 {
    let (served, client) = (Arc::new(AtomicU64::new(0)), client(world, index));
    let mut under_way = JoinSet::new();
    for _ in 0..loops {
        let (world, client, served) = (world.clone(), client.clone(), served.clone());
        under_way.spawn(async move {
            while Instant::now() < until {
                let request = steady(&world, tenant);
                match one(&world, &client, &request).await {
                    Fate::Answered { status: 200, .. } => {
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                    _ => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        });
    }
    while under_way.join_next().await.is_some() {}
    client.end().await;
    served.load(Ordering::Relaxed)
}

/// All alike, so that parts can be compared.
fn steady(world: &World, tenant: &'static str) -> Request {
    let id = next_id(world);
    Request {
        id,
        tenant,
        way: Way::H1,
        path: format!("/w/{id}?ms=100&n=500"),
        bytes: 500,
        upload: None,
        leaves_after: None,
    }
}
