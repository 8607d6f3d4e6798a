//! What is done to a node that soaks: workers killed, configs replaced, clients that leave.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use testkit::http::{Connection, exchange, request_bytes};
use testkit::process::Process;

use super::{Doors, TOKEN, config};

const PATIENCE: Duration = Duration::from_secs(10);
/// Between two deeds, in milliseconds: whoever took over from a worker that died has ended by then.
const PAUSE_MS: std::ops::Range<u64> = 500..1500;
/// Clients that leave at once.
const LEAVING: usize = 8;

/// One deed after the other until then; whether all that were asked of the node were done.
pub(super) async fn until(end: Instant, node: &Process, doors: Doors, origin: SocketAddr) -> bool {
    let mut chance = fastrand::Rng::with_seed(11);
    let (mut deeds, mut refused) = ([0_u64; 5], 0_u64);
    while Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(chance.u64(PAUSE_MS))).await;
        let deed = chance.usize(..deeds.len());
        deeds[deed] += 1;
        let done = match deed {
            0 => killed(doors.http, "/chaos/kill", &mut chance).await,
            1 => killed(doors.admin, "/chaos/transport/kill", &mut chance).await,
            2 => node.replace_config(&config(origin, chance.u64(..))).is_ok(),
            3 => node.replace_config("[gateway").is_ok(),
            _ => left(doors).await,
        };
        refused += u64::from(!done);
    }
    let [gateway, transport, good, bad, left] = deeds;
    println!(
        "workers killed {gateway} times behind HTTP and {transport} behind frames, {good} good configs, \
         {bad} bad ones, {left} crowds left"
    );
    if refused > 0 {
        println!("{refused} of that was not done; is the node built with `--features chaos`?");
    }
    refused == 0
}

async fn killed(target: SocketAddr, path: &str, chance: &mut fastrand::Rng) -> bool {
    let path = format!("{path}?workers={}", chance.u32(1..4));
    let token = format!("Bearer {TOKEN}");
    let fields = [("connection", "close"), ("authorization", &*token)];
    let request = request_bytes("POST", "node.test", &path, &fields, b"");
    let answer = exchange(target, &request, PATIENCE).await;
    answer.is_ok_and(|answer| answer.status == 200)
}

/// At each door some who ask and go: with a reset, before the answer, or in the middle of what they say.
async fn left(doors: Doors) -> bool {
    let whole = request_bytes("GET", "node.test", "/a", &[], b"");
    let hello = [0_u8; 20];
    for index in 0..LEAVING {
        for (door, said) in [
            (doors.http, &whole[..]),
            (doors.edge, &whole[..]),
            (doors.frames, &hello[..]),
        ] {
            let Ok(mut connection) = Connection::open(door, PATIENCE).await else {
                return false;
            };
            let said = &said[..said.len() * (index + 1) / LEAVING];
            if connection.send(said).await.is_err() {
                continue; // The node was quicker to leave.
            }
            if index % 2 == 0 && connection.reset().is_err() {
                return false;
            }
        }
    }
    true
}
