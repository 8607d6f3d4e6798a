//! The study as lines of the frame: deficit round robin against other queues, the default limit
//! policy against the others. A round is a seed.

use super::crowd::{Crowd, Figures};
use super::limits::{Contender, Ride};
use super::lines::Discipline;
use super::traces::Trace;
use super::{LOADS, Study};
use crate::frame::{Cost, Metric, Outcome, Peer, measure};

/// The report shows no less; a zero would make ratios endless.
const SMALLEST: f64 = 0.001;

struct Measure {
    crowd: Crowd,
    names: [&'static str; LOADS.len()],
    unit: &'static str,
    of: fn(&Figures) -> f64,
}

macro_rules! at_loads {
    ($what:literal) => {
        [
            concat!($what, "_at_0.5x"),
            concat!($what, "_at_0.75x"),
            concat!($what, "_at_1x"),
            concat!($what, "_at_1.5x"),
            concat!($what, "_at_2x"),
            concat!($what, "_at_3x"),
            concat!($what, "_at_5x"),
            concat!($what, "_at_7x"),
            concat!($what, "_at_10x"),
        ]
    };
}

const MEASURES: [Measure; 7] = [
    Measure {
        crowd: Crowd::Noisy,
        names: at_loads!("goodput"),
        unit: "answers/s",
        of: |figures| figures.goodput_per_s,
    },
    Measure {
        crowd: Crowd::Noisy,
        names: at_loads!("polite_p99"),
        unit: "ms",
        of: |figures| figures.polite_p99_ms,
    },
    Measure {
        crowd: Crowd::Noisy,
        names: at_loads!("polite_ok"),
        unit: "share",
        of: |figures| figures.polite_ok,
    },
    Measure {
        crowd: Crowd::Noisy,
        names: at_loads!("jain"),
        unit: "index",
        of: |figures| figures.jain.unwrap_or_default(),
    },
    Measure {
        crowd: Crowd::Dear,
        names: at_loads!("dear_share"),
        unit: "%",
        of: |figures| Crowd::Dear.percent(figures),
    },
    Measure {
        crowd: Crowd::Weighted,
        names: at_loads!("weight_4_share"),
        unit: "%",
        of: |figures| Crowd::Weighted.percent(figures),
    },
    Measure {
        crowd: Crowd::Hasty,
        names: at_loads!("in_vain"),
        unit: "%",
        of: |figures| Crowd::Hasty.percent(figures),
    },
];

/// All of it, compared.
pub(crate) fn outcomes(study: &Study) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for measure in &MEASURES {
        for load in 0..LOADS.len() {
            outcomes.extend(at_load(study, measure, load));
        }
    }
    for trace in Trace::ALL {
        outcomes.extend(on_trace(study, trace));
    }
    outcomes
}

fn at_load(study: &Study, measure: &Measure, load: usize) -> Vec<Outcome> {
    let of = |discipline| -> Vec<f64> {
        let rounds = &study.curve(measure.crowd, discipline).points[load];
        rounds.iter().map(measure.of).collect()
    };
    let peers = Discipline::ALL
        .into_iter()
        .filter(|discipline| *discipline != Discipline::Drr);
    let compare = |peer: Discipline| {
        let (ours, theirs) = (of(Discipline::Drr), of(peer));
        compared(measure.names[load], measure.unit, ours, peer.name(), theirs)
    };
    peers.map(compare).collect()
}

fn on_trace(study: &Study, trace: Trace) -> Vec<Outcome> {
    let (goodput, wait) = names(trace);
    let of = |contender, value: fn(&Ride) -> f64| -> Vec<f64> {
        study
            .course(trace, contender)
            .rides
            .iter()
            .map(value)
            .collect()
    };
    let peers = Contender::ALL
        .into_iter()
        .filter(|contender| *contender != Contender::Guarded);
    let compare = |peer: Contender| {
        let compare = |name, unit, value| {
            let (ours, theirs) = (of(Contender::Guarded, value), of(peer, value));
            compared(name, unit, ours, peer.name(), theirs)
        };
        [
            compare(goodput, "share", |ride| ride.goodput_share),
            compare(wait, "ms", |ride| ride.wait_p99_ms),
        ]
    };
    peers.flat_map(compare).collect()
}

fn names(trace: Trace) -> (&'static str, &'static str) {
    match trace {
        Trace::Step => ("step_goodput", "step_wait_p99"),
        Trace::Bimodal => ("bimodal_goodput", "bimodal_wait_p99"),
        Trace::ConstantTimeout => ("timeout_goodput", "timeout_wait_p99"),
        Trace::Pause => ("pause_goodput", "pause_wait_p99"),
        Trace::FewerPlaces => ("places_goodput", "places_wait_p99"),
    }
}

/// Through the frame, so that ratio and spread mean here what they mean everywhere. Nothing is
/// judged: of some of these more is better, and the frame knows costs only.
fn compared(
    name: &'static str,
    unit: &'static str,
    ours: Vec<f64>,
    peer: &'static str,
    theirs: Vec<f64>,
) -> Outcome {
    let rounds = ours.len();
    let metric = Metric {
        name,
        unit,
        ours: replay(ours),
        peer: Peer::Rival {
            name: peer,
            theirs: replay(theirs),
        },
        goal_ratio: f64::INFINITY,
    };
    measure(metric, rounds, |_| ())
}

/// One number after the other, over and over. Both sides of a round see the same seed.
fn replay(rounds: Vec<f64>) -> Cost {
    let mut next = (0..rounds.len()).cycle();
    Box::new(move || {
        let round = next.next().expect("there is at least one round");
        rounds[round].max(SMALLEST)
    })
}
