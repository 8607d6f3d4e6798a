//! What others notice of a connection that sends ten thousand requests at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::doors::{BY_WORKER, House};
use super::frames::Line;
use crate::cores::{self, Rank};
use crate::frame::Quantiles;
use crate::sheet::Row;
use crate::turns::median;

pub(super) const METRIC: &str = "99 of 100 round trips of others";

const PIPELINED: usize = 10_000;
/// Connections of others, each of which asks in its turn.
const OTHERS: usize = 8;
const PAUSE: Duration = Duration::from_micros(200);
const SMALL: usize = 64;
/// Of what it takes without the flood.
const GOAL: f64 = 1.5;

/// In turns: others alone, then beside a flood.
pub(super) fn rows(house: &House, rounds: usize, length: Duration) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (app_proto, who) in [
        (oap::app_proto::ECHO, "answered at once"),
        (BY_WORKER, "answered by workers"),
    ] {
        let (mut alone, mut beside, mut flooded) = (Vec::new(), Vec::new(), 0);
        for _ in 0..rounds {
            alone.push(p99(house, app_proto, length)?);
            let (took, requests) = beside_a_flood(house, app_proto, length)?;
            beside.push(took);
            flooded += requests;
        }
        let ratio = median(
            beside
                .iter()
                .zip(&alone)
                .map(|(with, without)| with / without),
        );
        let of = |costs: &[f64]| Quantiles::of(costs.iter().copied()).at(0.5);
        let named = |words: &str| format!("{words}, {who}");
        rows.push(Row::new(METRIC, &named("alone"), of(&alone), "µs").over(rounds, None));
        rows.push(
            Row::new(METRIC, &named("beside 10,000 pipelined"), of(&beside), "µs")
                .over(rounds, None)
                .beside("alone", ratio)
                .at_most(GOAL)
                .noted(format!("{flooded} requests came in floods")),
        );
    }
    Ok(rows)
}

/// What others measure while somebody floods, and how many requests that were.
fn beside_a_flood(house: &House, app_proto: u16, length: Duration) -> Result<(f64, usize), String> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flooding = scope.spawn(|| flood(house, app_proto, &over));
        let took = p99(house, app_proto, length);
        over.store(true, Ordering::Relaxed);
        let flooded = flooding
            .join()
            .map_err(|_| "the flood ended".to_owned())??;
        Ok((took?, flooded))
    })
}

fn flood(house: &House, app_proto: u16, over: &AtomicBool) -> Result<usize, String> {
    let odd = |error| format!("the flood: {error}");
    let mut line = Line::open(house.frames).map_err(odd)?;
    let (request, mut sent) = (line.request(app_proto, SMALL), 0);
    while !over.load(Ordering::Relaxed) {
        line.send_and_hear(&request, PIPELINED).map_err(odd)?;
        sent += PIPELINED;
    }
    Ok(sent)
}

/// Of round trips one after another, on several connections; in microseconds.
fn p99(house: &House, app_proto: u16, length: Duration) -> Result<f64, String> {
    // Before the flood, which has the same core: it is the node that is measured.
    cores::go_first(Rank::Origin);
    let took = round_trips(house, app_proto, length).map_err(|error| format!("others: {error}"));
    cores::go_first(Rank::Load);
    Ok(Quantiles::of(took?.into_iter()).at(0.99))
}

fn round_trips(house: &House, app_proto: u16, length: Duration) -> std::io::Result<Vec<f64>> {
    let mut lines = Vec::new();
    for _ in 0..OTHERS {
        lines.push(Line::open(house.frames)?);
    }
    let (began, mut took) = (Instant::now(), Vec::new());
    while began.elapsed() < length {
        for line in &mut lines {
            std::thread::sleep(PAUSE);
            let request = line.request(app_proto, SMALL);
            let asked = Instant::now();
            line.send(&request, 1)?;
            while line.hear()?.all == 0 {}
            took.push(asked.elapsed().as_secs_f64() * 1e6);
        }
    }
    Ok(took)
}
