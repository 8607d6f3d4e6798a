//! Load from little to ten times too much: where latency bends and what goodput is left, server by server.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::contender::Contender;
use super::scenario::{POLITE, WEIGHTS};
use super::{CAPACITY_PER_S, CONNECTIONS_MAX, PATIENCE};
use crate::catalogue::Ask;
use crate::circumstances;
use crate::frame::Effort;
use crate::load::open::{Outcome, Plan, Stream};
use crate::load::request;
use crate::load::tally::quantile_ms;
use crate::peers::{Door, Launch};
use crate::report;
use crate::sheet::{Axis, Plot, Row, Series, by_metric};
use crate::stand::{Stand, reserve};

/// What it is called by.
pub const NAME: &str = "sweep";
/// One sentence for the list.
pub const ABOUT: &str =
    "offered load from half to ten times what there is: latency of a polite tenant, goodput of all";

const POLITE_PER_S: f64 = 80.0;
const CONTENDERS: [Contender; 4] = [
    Contender::NginxMaxConns,
    Contender::HaproxyQueue,
    Contender::HaproxyExpert,
    Contender::OursFound,
];

/// One server under one load.
struct Point {
    load: f64,
    p99_ms: Option<f64>,
    goodput_per_s: f64,
    valid: bool,
}

/// Every contender under every load.
pub fn sweep(ask: &Ask) -> Result<(), String> {
    let (loads, length): (&[f64], _) = match ask.effort {
        Effort::Quick => (&[0.5, 1.0, 2.0, 10.0], Duration::from_millis(1_300)),
        Effort::Full => (
            &[0.25, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0],
            Duration::from_secs(6),
        ),
    };
    let mut curves = Vec::new();
    for contender in CONTENDERS {
        if !ask.wanted.has(&[contender.name()]) {
            continue;
        }
        let points = loads.iter().map(|load| point(contender, *load, length));
        match points.collect::<Result<Vec<Point>, String>>() {
            Ok(points) => curves.push((contender, points)),
            Err(sentence) => circumstances::absent(&sentence),
        }
    }
    report::tell(NAME, ask.json, rows(&curves), plots(&curves))
}

fn point(contender: Contender, load: f64, length: Duration) -> Result<Point, String> {
    let stand = Stand::new()?;
    let port = reserve()?;
    let place = stand.place(port.addr(), Door::Plain);
    let launch = Launch {
        kind: contender.kind(),
        config: &contender.config(&place, &WEIGHTS),
        files: &[],
        under: &[],
    };
    let server = launch.start(port)?;
    let outcome = Outcome::of(&Plan {
        target: server.address(),
        streams: streams(server.address(), load),
        warm_up: length / 5,
        length,
        patience: PATIENCE,
        connections_max: CONNECTIONS_MAX,
    });
    let outcome = outcome.map_err(|error| format!("the load could not be sent: {error}"))?;
    let polite = outcome.stream(POLITE).filter(|polite| polite.ok > 0);
    Ok(Point {
        load,
        p99_ms: polite.map(|polite| quantile_ms(&polite.latency, 0.99)),
        goodput_per_s: outcome.goodput_per_s(),
        valid: outcome.is_valid(),
    })
}

/// A polite tenant, and two who make up the rest.
fn streams(target: SocketAddr, load: f64) -> Vec<Stream> {
    let rest = (CAPACITY_PER_S * load - POLITE_PER_S) / 2.0;
    let tenants = [(POLITE, POLITE_PER_S), ("noisy-1", rest), ("noisy-2", rest)];
    let stream = |((name, rate_per_s), index): ((&str, f64), u8)| {
        Stream::steady(
            name,
            rate_per_s,
            request("GET", target, "/work", &[("X-Tenant", name)], b""),
            Ipv4Addr::new(127, 1, index, 1),
        )
    };
    tenants.into_iter().zip(1..).map(stream).collect()
}

fn rows(curves: &[(Contender, Vec<Point>)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (contender, points) in curves {
        for point in points {
            let said = |what: &str| format!("{what} at {} × capacity", point.load);
            let marked = |row: Row| match point.valid {
                true => row,
                false => row.noted("INVALID: the generator was late"),
            };
            let p99 = point
                .p99_ms
                .map(|p99| Row::new(&said("p99 of the polite"), contender.name(), p99, "ms"));
            rows.extend(p99.map(marked));
            let goodput = Row::new(
                &said("goodput"),
                contender.name(),
                point.goodput_per_s,
                "/s",
            );
            rows.push(marked(goodput));
        }
    }
    by_metric(rows)
}

fn plots(curves: &[(Contender, Vec<Point>)]) -> Vec<Plot> {
    let plot = |title: &str, y: Axis, value: fn(&Point) -> Option<f64>| {
        let line = |(contender, points): &(Contender, Vec<Point>)| Series {
            name: contender.name().to_owned(),
            points: points
                .iter()
                .filter_map(|point| Some((point.load, value(point)?)))
                .collect(),
        };
        Plot {
            title: title.to_owned(),
            note: "a polite tenant of 80/s; two others make up the load".to_owned(),
            x: Axis::log("offered load, in capacities of the origin"),
            y,
            lines: curves.iter().map(line).collect(),
            marks: vec![(1.0, "capacity".to_owned())],
        }
    };
    vec![
        plot(
            "Latency against load",
            Axis::log("p99 of the polite, ms"),
            |point| point.p99_ms,
        ),
        plot(
            "Goodput against load",
            Axis::linear("answers in time a second"),
            |point| Some(point.goodput_per_s),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_what_it_is_said_to_be() {
        for load in [0.25, 1.0, 10.0] {
            let target = "127.0.0.1:1".parse().unwrap();
            let asked: f64 = streams(target, load).iter().map(|s| s.rate_per_s).sum();
            assert!((asked - load * CAPACITY_PER_S).abs() < 1e-6);
        }
    }

    #[test]
    fn a_server_that_answers_nobody_in_time_has_no_latency_but_a_goodput() {
        let point = Point {
            load: 2.0,
            p99_ms: None,
            goodput_per_s: 0.0,
            valid: false,
        };
        let curves = [(Contender::NginxMaxConns, vec![point])];
        let rows = rows(&curves);
        assert_eq!(rows.len(), 1);
        assert!(
            rows[0]
                .note
                .as_deref()
                .is_some_and(|note| note.starts_with("INVALID"))
        );
        let plots = plots(&curves);
        assert!(plots[0].lines[0].points.is_empty());
        assert_eq!(plots[1].lines[0].points, [(2.0, 0.0)]);
    }
}
