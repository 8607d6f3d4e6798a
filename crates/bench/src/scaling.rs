//! What a unit of work costs as there is more of everything: connections, tenants, routes, endpoints, packs, bytes.

mod fit;
mod grown;

use crate::catalogue::Ask;
use crate::circumstances;
use crate::frame::{Effort, Quantiles};
use crate::report;
use crate::sheet::{Axis, Plot, Row, Series};
use crate::stand::Stand;

/// What it is called by.
pub const NAME: &str = "scaling";
/// One sentence for the list.
pub const ABOUT: &str =
    "cost of a request as connections, tenants, routes, endpoints, packs and bodies grow, fitted";

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Connections,
    Tenants,
    Routes,
    Endpoints,
    Packs,
    Body,
}

/// What was measured at one size, once a round.
struct Point {
    size: usize,
    costs: Vec<f64>,
}

impl Dimension {
    const ALL: [Self; 6] = [
        Self::Connections,
        Self::Tenants,
        Self::Routes,
        Self::Endpoints,
        Self::Packs,
        Self::Body,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Connections => "idle connections",
            Self::Tenants => "tenants",
            Self::Routes => "routes",
            Self::Endpoints => "endpoints",
            Self::Packs => "packs",
            Self::Body => "KiB of a body",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Body => "µs a KiB",
            _ => "µs a request",
        }
    }

    fn sizes(self, effort: Effort) -> &'static [usize] {
        match (self, effort) {
            (Self::Connections, Effort::Quick) => &[10, 300, 3_000],
            (Self::Connections, Effort::Full) => &[10, 100, 1_000, 5_000, 20_000],
            (Self::Tenants, Effort::Quick) => &[10, 300, 10_000],
            (Self::Tenants, Effort::Full) => &[10, 100, 1_000, 10_000, 100_000, 1_000_000],
            (Self::Routes, Effort::Quick) => &[10, 300, 9_000],
            (Self::Routes, Effort::Full) => &[10, 100, 1_000, 9_990],
            (Self::Endpoints, Effort::Quick) => &[1, 30, 1_000],
            (Self::Endpoints, Effort::Full) => &[1, 10, 100, 1_000],
            (Self::Packs, Effort::Quick) => &[1, 30, 1_000],
            (Self::Packs, Effort::Full) => &[1, 10, 100, 1_000, 10_000],
            (Self::Body, Effort::Quick) => &[1, 64, 4_096, 65_536],
            (Self::Body, Effort::Full) => &[1, 8, 64, 512, 4_096, 65_536],
        }
    }
}

/// Every wanted dimension by itself.
pub fn scaling(ask: &Ask) -> Result<(), String> {
    let most = Dimension::Endpoints.sizes(ask.effort).last();
    let stand = Stand::at_many(most.map_or(0, |most| most - 1))?;
    let (mut rows, mut plots) = (Vec::new(), Vec::new());
    for dimension in Dimension::ALL {
        if !ask.wanted.has(&[dimension.name()]) {
            continue;
        }
        eprintln!("as {} grow", dimension.name());
        match grown::measured(dimension, &stand, ask.effort) {
            Ok(points) => {
                rows.extend(row(dimension, &points));
                plots.push(plot(dimension, &points));
            }
            Err(sentence) => circumstances::absent(&sentence),
        }
    }
    report::tell(NAME, ask.json, rows, plots)
}

fn medians(points: &[Point]) -> Vec<(f64, f64)> {
    let some = points.iter().filter(|point| !point.costs.is_empty());
    some.map(|point| {
        let costs = Quantiles::of(point.costs.iter().copied());
        (point.size as f64, costs.at(0.5))
    })
    .collect()
}

/// The widest spread of any size.
fn spread(points: &[Point]) -> Option<f64> {
    let some = points.iter().filter(|point| !point.costs.is_empty());
    let spreads = some.map(|point| {
        let costs = Quantiles::of(point.costs.iter().copied());
        (costs.at(0.9) - costs.at(0.1)) / costs.at(0.5)
    });
    spreads.reduce(f64::max)
}

fn row(dimension: Dimension, points: &[Point]) -> Option<Row> {
    let medians = medians(points);
    let exponent = fit::exponent(&medians)?;
    let (first, last) = (medians.first()?, medians.last()?);
    let metric = format!("exponent of the cost over {}", dimension.name());
    let unit = dimension.unit();
    let rounds = points.first().map_or(0, |point| point.costs.len());
    let row = Row::new(&metric, "macronode", exponent, "").over(rounds, spread(points));
    Some(
        row.promised(
            "at most 0.1: a unit costs the same however many there are",
            exponent <= fit::FLAT,
        )
        .noted(format!(
            "{:.3} {unit} at {}, {:.3} at {}",
            first.1, first.0, last.1, last.0
        )),
    )
}

fn plot(dimension: Dimension, points: &[Point]) -> Plot {
    Plot {
        title: format!("Cost over {}", dimension.name()),
        x: Axis::log(dimension.name()),
        y: Axis::log(dimension.unit()),
        lines: vec![Series {
            name: "macronode".to_owned(),
            points: medians(points),
        }],
        ..Plot::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(costs: &[(usize, f64)]) -> Vec<Point> {
        let point = |(size, cost): &(usize, f64)| Point {
            size: *size,
            costs: vec![cost * 0.99, *cost, cost * 1.01],
        };
        costs.iter().map(point).collect()
    }

    #[test]
    fn what_grows_faster_than_its_number_is_flagged() {
        let flat = points(&[(10, 20.0), (1_000, 21.0), (100_000, 22.0)]);
        let row = row(Dimension::Tenants, &flat).unwrap();
        assert!(row.goal.is_some_and(|goal| goal.met));
        assert_eq!(
            row.note.as_deref(),
            Some("20.000 µs a request at 10, 22.000 at 100000")
        );
        let steep = points(&[(10, 20.0), (1_000, 60.0), (100_000, 300.0)]);
        let row = super::row(Dimension::Tenants, &steep).unwrap();
        assert!(row.goal.is_some_and(|goal| !goal.met));
    }

    #[test]
    fn every_dimension_grows_over_at_least_a_decade() {
        for dimension in Dimension::ALL {
            for effort in [Effort::Quick, Effort::Full] {
                let sizes = dimension.sizes(effort);
                assert!(sizes.is_sorted() && sizes.len() >= 3);
                assert!(sizes[sizes.len() - 1] >= sizes[0] * 10, "{dimension:?}");
            }
        }
    }
}
