//! Hits while fetches saturate: the same hits at a steady rate, by turns alone and beside more misses than can be
//! fetched at once, from an origin that takes its time.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use testkit::http::{Connection, request_bytes};
use testkit::process::Port;
use testkit::upstream::{Reply, Upstream, filler};

use super::row::Row;
use crate::cores;
use crate::load::open::{Outcome, Plan, Stream};
use crate::load::request;
use crate::load::tally::quantile_ms;
use crate::load::wire::exchange;
use crate::peers::{Door, Kind, Launch, OTHER_CORE, Place, Running, macronode};
use crate::results::{rounded, today};
use crate::turns::{Turns, median};

/// What the rows are called.
pub(super) const NAME: &str = "hits beside fetches, p99";
/// Without and with fetches.
pub(super) const SUBJECTS: [&str; 2] = ["hits alone", "hits beside fetches"];
/// What the second may be of the first.
pub(super) const AT_MOST: f64 = 1.5;

const BYTES: usize = 10 * 1024;
/// Hits a second: a third of what a core gives out, so that there is something left to be disturbed.
const RATE: f64 = 4_000.0;
/// More than are fetched (256) and wait (512) at once: some are turned away, which shows that no more fit.
const MISSES: usize = 800;
const ORIGIN_DELAY: Duration = Duration::from_millis(250);
/// Different delays of the origin, around that one.
const PACES: u32 = 37;
const PATIENCE: Duration = Duration::from_secs(10);

/// The p99 of both, and how many fetches ended and were turned away meanwhile.
pub(super) fn measured(turns: Turns) -> Result<Vec<Row>, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .on_thread_start(stand_back)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let origin = runtime.block_on(Upstream::start());
    let origin = origin.map_err(|error| error.to_string())?;
    origin.set_journal(0);
    let reply = Reply::status(200).header("cache-control", "max-age=600");
    origin.set("/hit", reply.clone().body(filler(BYTES)));
    for pace in 0..PACES {
        // Not all at once: an origin that answers in step would be measured, and not what fetches cost.
        let delay = ORIGIN_DELAY / 2 + ORIGIN_DELAY * pace / PACES;
        let reply = reply.clone().body(filler(BYTES)).delay(delay);
        origin.set(&format!("/miss{pace}"), reply);
    }
    let server = start(origin.addr())?;
    let misses = Misses::new(server.address());
    runtime.block_on(async { misses.open() });
    let mut sides = [Vec::new(), Vec::new()];
    for round in 0..=turns.rounds {
        let mut taken = Vec::new();
        for beside in [false, true] {
            misses.wanted.store(beside, Ordering::SeqCst);
            // Until those of the last turn have ended, or the queue is full.
            std::thread::sleep(ORIGIN_DELAY * 4);
            taken.extend(hits(server.address(), turns.length)?);
        }
        if let ([alone, with], 1..) = (&taken[..], round) {
            sides[0].push(*alone);
            sides[1].push(*with);
        }
    }
    if sides[0].is_empty() {
        return Err("the load itself was late in every round".to_owned());
    }
    let (done, refused) = (misses.done(), misses.refused());
    if refused == 0 {
        return Err(format!(
            "{done} fetches, and none turned away: they did not saturate"
        ));
    }
    println!("{done} fetches beside, {refused} more turned away");
    Ok(rows(&sides))
}

fn start(origin: SocketAddr) -> Result<Running, String> {
    let port = Port::reserve().map_err(|error| format!("no port is free: {error}"))?;
    let place = Place {
        listen: port.addr(),
        origin,
        access_log: false,
        door: Door::Plain,
    };
    let config = macronode::cache(&place).replace("rps = 0", "rps = 0\ninflight = 4000");
    let launch = Launch {
        kind: Kind::Macronode,
        config: &config,
        files: &[],
        under: &[],
    };
    let server = launch.start(port)?;
    let answer = exchange(
        server.address(),
        &request("GET", server.address(), "/o/hit", &[], b""),
    );
    match answer.map_err(|error| error.to_string())? {
        (200, body) if body.len() == BYTES => Ok(server),
        (status, body) => Err(format!("it answers {status} with {} bytes", body.len())),
    }
}

/// The p99 of hits in microseconds, and how many failed; nothing where the load was late itself.
fn hits(target: SocketAddr, length: Duration) -> Result<Option<(f64, u64)>, String> {
    let outcome = Outcome::of(&Plan {
        target,
        streams: vec![Stream::steady(
            "hits",
            RATE,
            request("GET", target, "/o/hit", &[], b""),
            Ipv4Addr::LOCALHOST,
        )],
        warm_up: length / 5,
        length,
        patience: PATIENCE,
        connections_max: 512,
    });
    let outcome = outcome.map_err(|error| error.to_string())?;
    if !outcome.is_valid() {
        return Ok(None);
    }
    let hits = &outcome.streams[0];
    let failures = hits.timed_out + hits.lost + hits.refused.values().sum::<u64>();
    Ok(Some((quantile_ms(&hits.latency, 0.99) * 1e3, failures)))
}

/// On the core of the load, and after it: the origin and those who miss may be late, the hits are measured.
fn stand_back() {
    cores::pin(OTHER_CORE);
    cores::stand_back();
}

/// Clients that each want something nobody has asked for before, as soon as they have the last.
struct Misses {
    target: SocketAddr,
    wanted: Arc<AtomicBool>,
    next: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
}

impl Misses {
    fn new(target: SocketAddr) -> Self {
        Self {
            target,
            wanted: Arc::default(),
            next: Arc::default(),
            refused: Arc::default(),
        }
    }

    fn open(&self) {
        for _ in 0..MISSES {
            let (target, wanted) = (self.target, self.wanted.clone());
            let (next, refused) = (self.next.clone(), self.refused.clone());
            tokio::spawn(async move {
                let mut connection = Connection::open(target, PATIENCE).await.ok()?;
                loop {
                    if !wanted.load(Ordering::Relaxed) {
                        tokio::time::sleep(ORIGIN_DELAY / 5).await;
                        continue;
                    }
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let path = format!("/o/miss{}?{number}", number % u64::from(PACES));
                    let bytes = request_bytes("GET", target, &path, &[], b"");
                    let answer = connection.exchange(&bytes, PATIENCE).await.ok()?;
                    if answer.status != 200 {
                        refused.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(ORIGIN_DELAY).await;
                    }
                }
                #[expect(unreachable_code, reason = "says what `?` returns")]
                Some(())
            });
        }
    }

    fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn done(&self) -> u64 {
        self.next.load(Ordering::Relaxed) - self.refused()
    }
}

fn rows(sides: &[Vec<(f64, u64)>; 2]) -> Vec<Row> {
    let pairs = sides[1].iter().zip(&sides[0]);
    let ratio = median(pairs.map(|((with, _), (alone, _))| with / alone));
    let row = |(side, subject): (usize, &str)| {
        let own = &sides[side];
        let p99 = median(own.iter().map(|(p99, _)| *p99)).unwrap_or(f64::NAN);
        let mut sorted: Vec<f64> = own.iter().map(|(p99, _)| *p99).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part: usize| sorted[(sorted.len() - 1) * part / 10];
        Row {
            case: NAME.to_owned(),
            server: subject.to_owned(),
            unit: "µs".to_owned(),
            each: p99,
            to_alone: ratio.filter(|_| side == 1),
            spread: rounded((at(9) - at(1)) / p99),
            per_s: Some(RATE),
            p99_us: Some(p99),
            failures: own.iter().map(|(_, failures)| failures).sum(),
            rounds: own.len(),
            measured: today(),
            ..Row::default()
        }
    };
    SUBJECTS.into_iter().enumerate().map(row).collect()
}
