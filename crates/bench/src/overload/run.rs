//! One contender in one scenario, from a fresh origin to a row.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use testkit::process::Port;

use super::contender::Contender;
use super::row::Row;
use super::scenario::{Change, Scenario, WEIGHTS, When};
use super::{CONNECTIONS_MAX, Length, PATIENCE};
use crate::load::open::{Outcome, Plan};
use crate::load::wire::ask;
use crate::origin::{last_words, start as start_origin};
use crate::peers::{Door, Launch, OTHER_CORE, Place};

pub(super) fn run(
    contender: Contender,
    scenario: &Scenario,
    length: Length,
) -> Result<Row, String> {
    let reserve = || Port::reserve().map_err(|error| format!("no port is free: {error}"));
    let (origin_port, port) = (reserve()?, reserve()?);
    let (process, origin) = (start_origin(&origin_port, OTHER_CORE)?, origin_port.addr());
    let place = Place {
        listen: port.addr(),
        origin,
        door: Door::Plain,
        access_log: false,
    };
    let launch = Launch {
        kind: contender.kind(),
        config: &contender.config(&place, &WEIGHTS),
        files: &[],
        under: &[],
    };
    let server = launch.start(port)?;
    let changes = scenario.changes;
    let (before, later): (Vec<Change>, Vec<Change>) = changes
        .iter()
        .partition(|change| change.when == When::Before);
    for change in before {
        apply(origin, change)?;
    }
    let changing = std::thread::spawn(move || change_later(origin, &later, length));
    let outcome = Outcome::of(&Plan {
        target: server.address(),
        streams: scenario.streams(server.address(), length),
        warm_up: length.warm_up,
        length: length.warm_up + length.counted,
        patience: PATIENCE,
        connections_max: CONNECTIONS_MAX,
    });
    let outcome = outcome.map_err(|error| format!("the load could not be sent: {error}"))?;
    changing
        .join()
        .map_err(|_| "the origin was not changed")??;
    let wasted_percent = wasted_percent(origin).ok_or_else(|| last_words(&process))?;
    Ok(Row::new(contender, scenario, &outcome, wasted_percent))
}

fn change_later(origin: SocketAddr, changes: &[Change], length: Length) -> Result<(), String> {
    let began = Instant::now();
    for change in changes {
        let when = match change.when {
            When::Before => Duration::ZERO,
            When::WarmingUp => length.warm_up / 3,
            When::Counted => length.warm_up,
            When::SecondLater => length.warm_up + Duration::from_secs(1),
        };
        std::thread::sleep(when.saturating_sub(began.elapsed()));
        apply(origin, *change)?;
    }
    Ok(())
}

fn apply(origin: SocketAddr, change: Change) -> Result<(), String> {
    let Change {
        places, service_ms, ..
    } = change;
    let manner = change.manner.name();
    let path = format!("/control?places={places}&service_ms={service_ms}&manner={manner}");
    match ask(origin, &path) {
        Ok((200, _)) => Ok(()),
        other => Err(format!("the origin was not changed: {other:?}")),
    }
}

/// Nothing when the origin does not say; nought when it did no work.
fn wasted_percent(origin: SocketAddr) -> Option<f64> {
    let (_, body) = ask(origin, "/stats").ok()?;
    let stats: serde_json::Value = serde_json::from_slice(&body).ok()?;
    let (done, departed) = (stats["done"].as_f64()?, stats["departed"].as_f64()?);
    Some(crate::results::rounded(departed * 100.0 / done.max(1.0)))
}
