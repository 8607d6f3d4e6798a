//! The study for people who read text: medians over the seeds.

use std::fmt::Write;

use super::crowd::{Crowd, Figures};
use super::limits::Contender;
use super::lines::Discipline;
use super::traces::Trace;
use super::{CAPACITY_PER_S, Course, LOADS, Study, median, quantile};

/// Everything, with a line break at the end.
pub(crate) fn text(study: &Study) -> String {
    let mut out = String::new();
    let noisy = Crowd::Noisy;
    by_load(
        &mut out,
        study,
        noisy,
        "goodput, % of capacity",
        |figures| figures.goodput_per_s / CAPACITY_PER_S * 100.0,
    );
    by_load(&mut out, study, noisy, noisy.title(), |figures| {
        noisy.percent(figures)
    });
    by_load(
        &mut out,
        study,
        noisy,
        "polite tenants: p99, ms",
        |figures| figures.polite_p99_ms,
    );
    fairness(&mut out, study, noisy);
    for case in Crowd::CASES {
        by_load(&mut out, study, case, case.title(), |figures| {
            case.percent(figures)
        });
        fairness(&mut out, study, case);
    }
    limits(&mut out, study);
    out
}

fn by_load(
    out: &mut String,
    study: &Study,
    crowd: Crowd,
    title: &str,
    value: impl Fn(&Figures) -> f64,
) {
    heading(out, title);
    for curve in study.curves(crowd) {
        let cells = curve.medians(&value).map(|value| format!("{value:.1}"));
        row(out, curve.discipline, cells);
    }
}

fn fairness(out: &mut String, study: &Study, crowd: Crowd) {
    heading(out, "  Jain index of service");
    for curve in study.curves(crowd) {
        let cells = curve
            .medians(|figures| figures.jain.unwrap_or(f64::NAN))
            .map(|index| match index.is_nan() {
                true => "none".to_owned(),
                false => format!("{index:.3}"),
            });
        row(out, curve.discipline, cells);
    }
}

fn heading(out: &mut String, title: &str) {
    let loads: String = LOADS
        .iter()
        .map(|load| format!("{:>8}", format!("{load}x")))
        .collect();
    push(out, format_args!("{title:<26}{loads}\n"));
}

fn row(out: &mut String, discipline: Discipline, cells: impl Iterator<Item = String>) {
    let cells: String = cells.map(|cell| format!("{cell:>8}")).collect();
    push(out, format_args!("  {:<24}{cells}\n", discipline.name()));
}

fn limits(out: &mut String, study: &Study) {
    push(
        out,
        format_args!(
            "{:<24}{:<20}{:>10}{:>12}{:>20}\n",
            "trace", "limit", "goodput %", "p99 wait ms", "limit p5/p50/p95"
        ),
    );
    for trace in Trace::ALL {
        for contender in Contender::ALL {
            course(out, study.course(trace, contender));
        }
    }
}

fn course(out: &mut String, course: &Course) {
    let rides = course.rides.iter();
    let mut seen: Vec<f64> = rides
        .flat_map(|ride| ride.limits.iter().map(|(_, limit)| *limit))
        .collect();
    let [low, middle, high] = [0.05, 0.5, 0.95].map(|q| quantile(&mut seen, q));
    push(
        out,
        format_args!(
            "  {:<22}{:<20}{:>10.1}{:>12.1}{:>20}\n",
            course.trace.name(),
            course.contender.name(),
            course.goodput_percent(),
            median(course.rides.iter().map(|ride| ride.wait_p99_ms)),
            format!("{low:.0} / {middle:.0} / {high:.0}"),
        ),
    );
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes all text");
}
