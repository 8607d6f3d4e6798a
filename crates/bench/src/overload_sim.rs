//! Overload, simulated: what a queue makes of more than an origin can do, and where each limit
//! policy goes when the origin changes. Virtual time and seeds: the same numbers on every machine.

mod crowd;
mod fairness;
mod limits;
mod lines;
mod metrics;
mod picture;
mod sheet;
mod table;
mod traces;

use std::time::Duration;

use crate::frame::Effort;
use crate::{report, results};
use crowd::{Crowd, Figures};
use limits::{Contender, Ride};
use lines::Discipline;
use traces::Trace;

/// What it is called by.
pub const NAME: &str = "overload-sim";
/// One sentence for the list.
pub const ABOUT: &str =
    "queues under 0.5x to 10x load of four crowds, limit policies on traces: table and picture";

/// What the origin can do at once, and how long each thing takes.
const PLACES: usize = 32;
const SERVICE: Duration = Duration::from_millis(20);
const CAPACITY_PER_S: f64 = 1_600.0;
/// How long a client waits for its answer before it goes away.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Offered load, in capacities. `metrics` names them.
const LOADS: [f64; 9] = [0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0];

const PICTURE: &str = "overload-sim.svg";

/// Everything that came out.
struct Study {
    curves: Vec<Curve>,
    courses: Vec<Course>,
}

/// One discipline before one crowd; per load, what each seed gave.
struct Curve {
    crowd: Crowd,
    discipline: Discipline,
    points: Vec<Vec<Figures>>,
}

/// One policy on one trace; what each seed gave.
struct Course {
    trace: Trace,
    contender: Contender,
    rides: Vec<Ride>,
}

/// Runs, prints a table or lines of JSON, and draws.
pub fn overload_sim(effort: Effort, json: bool) -> Result<(), String> {
    let study = Study::run(effort.rounds() as u64, Duration::from_secs(10));
    let outcomes = metrics::outcomes(&study);
    if json {
        for outcome in &outcomes {
            println!("{}", report::json(NAME, outcome));
        }
    } else {
        print!("{}", table::text(&study));
    }
    results::keep_rows(NAME, sheet::rows(&outcomes), sheet::plots(&study))?;
    results::draw(PICTURE, &picture::svg(&study))
}

impl Study {
    fn run(seeds: u64, crowd_length: Duration) -> Self {
        let point = |crowd, discipline, load| {
            (0..seeds)
                .map(|seed| crowd::simulate(crowd, discipline, load, crowd_length, seed))
                .collect()
        };
        let curve = |(crowd, discipline)| Curve {
            crowd,
            discipline,
            points: LOADS.map(|load| point(crowd, discipline, load)).into(),
        };
        let course = |(trace, contender)| Course {
            trace,
            contender,
            rides: (0..seeds)
                .map(|seed| limits::simulate(trace, contender, seed))
                .collect(),
        };
        let pairs = Trace::ALL
            .into_iter()
            .flat_map(|trace| Contender::ALL.map(|contender| (trace, contender)));
        let crowds = Crowd::ALL
            .into_iter()
            .flat_map(|crowd| Discipline::ALL.map(|discipline| (crowd, discipline)));
        Self {
            curves: crowds.map(curve).collect(),
            courses: pairs.map(course).collect(),
        }
    }

    /// One a discipline, in their order.
    fn curves(&self, crowd: Crowd) -> impl DoubleEndedIterator<Item = &Curve> {
        let curves = self.curves.iter();
        curves.filter(move |curve| curve.crowd == crowd)
    }

    fn curve(&self, crowd: Crowd, discipline: Discipline) -> &Curve {
        self.curves(crowd)
            .find(|curve| curve.discipline == discipline)
            .expect("every discipline was run before every crowd")
    }

    fn course(&self, trace: Trace, contender: Contender) -> &Course {
        let mut courses = self.courses.iter();
        courses
            .find(|course| (course.trace, course.contender) == (trace, contender))
            .expect("every policy was run on every trace")
    }
}

impl Curve {
    /// One number a load.
    fn medians(&self, value: impl Fn(&Figures) -> f64) -> impl Iterator<Item = f64> {
        self.points
            .iter()
            .map(move |rounds| median(rounds.iter().map(&value)))
    }
}

impl Course {
    fn goodput_percent(&self) -> f64 {
        median(self.rides.iter().map(|ride| ride.goodput_share)) * 100.0
    }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = numbers.collect();
    quantile(&mut sorted, 0.5)
}

/// The nearest rank; sorts what it is given. Of nothing it is not a number.
fn quantile(numbers: &mut [f64], q: f64) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let rank = (q * numbers.len() as f64).ceil() as usize;
    let last = numbers.len().saturating_sub(1);
    numbers
        .get(rank.saturating_sub(1).min(last))
        .copied()
        .unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests;
