//! A node of each size, and what a unit costs it.

use std::time::Duration;

use tile_pack::{Coding, Description, PackWriter, TileAddress, TileFormat};

use super::{Dimension, Point};
use crate::frame::Effort;
use crate::load::closed::{self, Plan, Until};
use crate::load::idle::{self, Idle, Manner};
use crate::load::{request, sequence};
use crate::peers::{Door, Kind, Launch, Running, macronode};
use crate::stand::{Stand, reserve};

const ROUNDS: usize = 5;
const CLIENTS: usize = 16;
const TILE_BYTES: usize = 1_024;
/// So many requests of tenants in no order are one measurement.
const OF_TENANTS: u64 = 6_000;
/// Bytes of all answers of one measurement of bodies, and how many answers at least and at most.
const OF_BODIES: u64 = 192 << 20;
const ANSWERS: (u64, u64) = (3, 2_000);

pub(super) fn measured(
    dimension: Dimension,
    stand: &Stand,
    effort: Effort,
) -> Result<Vec<Point>, String> {
    let sizes = dimension.sizes(effort);
    match dimension {
        Dimension::Connections => beside_idle(stand, sizes, effort),
        Dimension::Tenants => of_tenants(stand, sizes),
        Dimension::Routes => in_turns(sizes, effort, |size| {
            let path = format!("/r{}/bytes/1024", size - 1);
            Ok((gateway(stand, 1, size)?, path))
        }),
        Dimension::Endpoints => in_turns(sizes, effort, |size| {
            Ok((gateway(stand, size, 0)?, "/bytes/1024".to_owned()))
        }),
        Dimension::Packs => in_turns(sizes, effort, |size| {
            Ok((edge(size)?, format!("/tiles/p{}/0/0/0.mvt", size - 1)))
        }),
        Dimension::Body => of_bodies(stand, sizes),
    }
}

fn gateway(stand: &Stand, endpoints: usize, routes: usize) -> Result<Running, String> {
    let port = reserve()?;
    let place = stand.place(port.addr(), Door::Plain);
    let config = macronode::sized(
        &place,
        &macronode::Size {
            endpoints: &stand.origins()[..endpoints],
            routes,
            connections: idle::most(),
            limit: 1_000,
        },
    );
    start(&config, &[], port)
}

fn edge(packs: usize) -> Result<Running, String> {
    let bytes = pack().map_err(|error| format!("no pack: {error}"))?;
    let names: Vec<String> = (0..packs).map(|number| format!("p{number}")).collect();
    let files: Vec<String> = names.iter().map(|name| format!("{name}.pmtiles")).collect();
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|name| (name.as_str(), bytes.as_slice()))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let port = reserve()?;
    start(&macronode::packs(port.addr(), &names), &files, port)
}

/// A pack of one tile.
fn pack() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    let path = home.path().join("one.pmtiles");
    let description = Description::new(TileFormat::Mvt, Coding::None);
    let mut writer = PackWriter::create(&path, description)?;
    let top = TileAddress::new(0, 0, 0).ok_or("there is a tile at the top")?;
    writer.add(top, &vec![b'x'; TILE_BYTES].into())?;
    writer.finish()?;
    Ok(std::fs::read(path)?)
}

fn start(
    config: &str,
    files: &[(&str, &[u8])],
    port: testkit::process::Port,
) -> Result<Running, String> {
    let launch = Launch {
        kind: Kind::Macronode,
        config,
        files,
        under: &[],
    };
    launch.start(port)
}

/// All sizes at once, measured in turns: what the machine does to one it does to all.
fn in_turns(
    sizes: &[usize],
    effort: Effort,
    made: impl Fn(usize) -> Result<(Running, String), String>,
) -> Result<Vec<Point>, String> {
    let servers: Vec<(Running, String)> = sizes
        .iter()
        .map(|size| made(*size))
        .collect::<Result<_, _>>()?;
    let mut points: Vec<Point> = sizes.iter().map(|size| empty(*size)).collect();
    for round in 0..=ROUNDS {
        for ((server, path), point) in servers.iter().zip(&mut points) {
            let cost = micros_each(server, path, CLIENTS, until(effort))?;
            // The first round opens connections and fills caches; it is no size's cost.
            point.costs.extend((round > 0).then_some(cost));
        }
    }
    Ok(points)
}

fn empty(size: usize) -> Point {
    Point {
        size,
        costs: Vec::new(),
    }
}

fn until(effort: Effort) -> Until {
    Until::Elapsed(match effort {
        Effort::Quick => Duration::from_millis(200),
        Effort::Full => Duration::from_secs(1),
    })
}

fn micros_each(
    server: &Running,
    path: &str,
    connections: usize,
    until: Until,
) -> Result<f64, String> {
    let target = server.address();
    let plan = Plan {
        target,
        connections,
        request: request("GET", target, path, &[("X-Tenant", "scaling")], b""),
        warm_up: Duration::from_millis(50),
        until,
    };
    let outcome = closed::run(&plan, || server.cpu_time()).map_err(|error| error.to_string())?;
    match outcome.failures {
        0 => Ok(outcome.micros_each()),
        failures => Err(format!("{failures} requests for {path} failed")),
    }
}

/// One node beside whose work ever more connections stay without a word.
fn beside_idle(stand: &Stand, sizes: &[usize], effort: Effort) -> Result<Vec<Point>, String> {
    let server = gateway(stand, 1, 0)?;
    let manner = Manner {
        target: server.address(),
        door: Door::Plain,
        tls: crate::memory::no_tls(),
    };
    let (mut idle, most) = (Idle::default(), idle::most().saturating_sub(500));
    let mut points = Vec::new();
    for size in sizes.iter().map(|size| (*size).min(most)) {
        let grown = idle.grow(size, &manner);
        grown.map_err(|error| format!("{size} idle connections: {error}"))?;
        let mut point = empty(size);
        for round in 0..=ROUNDS {
            let cost = micros_each(&server, "/bytes/1024", CLIENTS, until(effort))?;
            point.costs.extend((round > 0).then_some(cost));
        }
        points.push(point);
    }
    Ok(points)
}

/// One node that gets to know ever more tenants; what is measured are requests of all it knows, in no order.
fn of_tenants(stand: &Stand, sizes: &[usize]) -> Result<Vec<Point>, String> {
    let server = gateway(stand, 1, 0)?;
    let target = server.address();
    let ask = |tenant: u64| {
        let tenant = format!("t{tenant}");
        request(
            "GET",
            target,
            "/bytes/64",
            &[("X-Tenant", tenant.as_str())],
            b"",
        )
    };
    let odd = |error: std::io::Error| format!("tenants were not answered: {error}");
    let (mut points, mut known) = (Vec::new(), 0);
    for size in sizes {
        sequence::run(target, known..*size as u64, 64, ask).map_err(odd)?;
        known = *size as u64;
        let mut point = empty(*size);
        for round in 0..ROUNDS as u64 {
            let numbers = round * OF_TENANTS..(round + 1) * OF_TENANTS;
            let before = server.cpu_time();
            sequence::run(target, numbers, 64, |number| ask(scattered(number) % known))
                .map_err(odd)?;
            let spent = server.cpu_time().saturating_sub(before);
            point
                .costs
                .push(spent.as_secs_f64() * 1e6 / OF_TENANTS as f64);
        }
        points.push(point);
    }
    Ok(points)
}

/// Neighbours far apart, the same in each run.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

fn of_bodies(stand: &Stand, sizes: &[usize]) -> Result<Vec<Point>, String> {
    let server = gateway(stand, 1, 0)?;
    let mut points: Vec<Point> = sizes.iter().map(|size| empty(*size)).collect();
    for round in 0..=ROUNDS {
        for point in &mut points {
            let bytes = point.size * 1_024;
            let answers = (OF_BODIES / bytes as u64).clamp(ANSWERS.0, ANSWERS.1);
            let path = format!("/bytes/{bytes}");
            let each = micros_each(&server, &path, 2, Until::Answers(answers))?;
            point
                .costs
                .extend((round > 0).then(|| each / point.size as f64));
        }
    }
    Ok(points)
}
