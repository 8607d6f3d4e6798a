//! What is drawn of the study: panels by load for each crowd, and a small one of the limit for each trace.

use super::crowd::{Crowd, Figures};
use super::limits::Contender;
use super::lines::Discipline;
use super::traces::Trace;
use super::{CAPACITY_PER_S, LOADS, Study};
use crate::svg::{Area, Axis, Line, Panel, Scale, Stroke, Svg};

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 1170.0;
const MARGIN: f64 = 24.0;
/// Left of a panel, for the numbers and the label of its axis.
const GUTTER: f64 = 52.0;

/// The whole document.
pub(crate) fn svg(study: &Study) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    svg.heading(
        MARGIN,
        34.0,
        18.0,
        "Overload: one noisy tenant, eight polite ones, an origin of 32 places × 20 ms",
    );
    svg.text(
        MARGIN,
        54.0,
        12.0,
        "start",
        "Polite tenants send 20/s each, the noisy one the rest; clients leave after 1.5 s. \
         Strict priority ranks four polite tenants above the noisy one and four below. Simulated; \
         medians over seeds.",
    );
    let strokes = Discipline::ALL.map(discipline_stroke);
    svg.legend(MARGIN, 80.0, 170.0, &strokes);
    let panels = [goodput(study), polite_ok(study), polite_p99(study)];
    row(&mut svg, 120.0, 270.0, &panels);

    crowds(&mut svg, study, 482.0);
    policies(&mut svg, study, 852.0);
    svg.finish()
}

fn crowds(svg: &mut Svg, study: &Study, top: f64) {
    svg.heading(
        MARGIN,
        top,
        18.0,
        "What a count of requests does not tell: cost, weight, deadline",
    );
    svg.text(
        MARGIN,
        top + 20.0,
        12.0,
        "start",
        "Left: nine tenants send equally often, one for 32× the cost. Middle: four of eight tenants have \
         weight 4; 80 % is fair from 2× on. Right: clients of four of eight leave after 100 ms.",
    );
    row(
        svg,
        top + 62.0,
        230.0,
        &Crowd::CASES.map(|case| share(study, case)),
    );
}

fn policies(svg: &mut Svg, study: &Study, top: f64) {
    svg.heading(
        MARGIN,
        top,
        18.0,
        "Limits over time: 1.5× of what the origin can do, bounds 4 to 256",
    );
    svg.text(
        MARGIN,
        top + 20.0,
        12.0,
        "start",
        "“fixed” was told the origin's 32 places, AIMD what is slow (40 ms); gradient and guarded \
         find out. Goodput in % of the possible, in the order of the legend.",
    );
    let strokes = Contender::ALL.map(contender_stroke);
    svg.legend(MARGIN, top + 46.0, 170.0, &strokes);
    let panels = Trace::ALL.map(|trace| limits(study, trace));
    row(svg, top + 110.0, 150.0, &panels);
}

/// Panels side by side over the whole width.
fn row(svg: &mut Svg, top: f64, height: f64, panels: &[Panel]) {
    let cell = (WIDTH - 2.0 * MARGIN) / panels.len() as f64;
    for (index, panel) in panels.iter().enumerate() {
        let area = Area {
            left: MARGIN + cell * index as f64 + GUTTER,
            top,
            width: cell - GUTTER - 14.0,
            height,
        };
        svg.panel(area, panel);
    }
}

fn goodput(study: &Study) -> Panel<'static> {
    let title = "Goodput, all tenants";
    by_load(
        study,
        Crowd::Noisy,
        title,
        percent("% of capacity"),
        |figures| figures.goodput_per_s / CAPACITY_PER_S * 100.0,
    )
}

fn polite_ok(study: &Study) -> Panel<'static> {
    let title = "Polite tenants: answered in time";
    by_load(
        study,
        Crowd::Noisy,
        title,
        percent("% of requests"),
        |figures| figures.polite_ok * 100.0,
    )
}

fn share(study: &Study, case: Crowd) -> Panel<'static> {
    let title = match case {
        Crowd::Dear => "Cost: what the dear tenant takes",
        Crowd::Weighted => "Weight: what those of weight 4 get",
        Crowd::Hasty => "Deadline: work for those who have gone",
        Crowd::Noisy => "Polite tenants: answered in time",
    };
    let y = percent("% of the origin's work");
    by_load(study, case, title, y, move |figures| case.percent(figures))
}

fn percent(label: &'static str) -> Axis<'static> {
    Axis {
        label,
        scale: Scale::Linear,
        from: 0.0,
        to: 105.0,
        marks: PERCENT,
    }
}

fn polite_p99(study: &Study) -> Panel<'static> {
    let y = Axis {
        label: "ms (log)",
        scale: Scale::Log,
        from: 15.0,
        to: 1_700.0,
        marks: &[
            (20.0, "20"),
            (50.0, "50"),
            (100.0, "100"),
            (200.0, "200"),
            (500.0, "500"),
            (1_500.0, "1500"),
        ],
    };
    let title = "Polite tenants: p99 of the answered";
    by_load(study, Crowd::Noisy, title, y, |figures| {
        figures.polite_p99_ms
    })
}

const PERCENT: &[(f64, &str)] = &[
    (0.0, "0"),
    (25.0, "25"),
    (50.0, "50"),
    (75.0, "75"),
    (100.0, "100"),
];

fn by_load(
    study: &Study,
    crowd: Crowd,
    title: &'static str,
    y: Axis<'static>,
    value: impl Fn(&Figures) -> f64,
) -> Panel<'static> {
    let x = Axis {
        label: "offered load, × capacity (log)",
        scale: Scale::Log,
        from: 0.5,
        to: 10.0,
        marks: &[
            (0.5, "0.5"),
            (1.0, "1"),
            (2.0, "2"),
            (3.0, "3"),
            (5.0, "5"),
            (10.0, "10"),
        ],
    };
    // Ours first: where another does as well, its thinner line shows on top.
    let lines = study.curves(crowd).rev().map(|curve| Line {
        stroke: discipline_stroke(curve.discipline),
        points: LOADS.into_iter().zip(curve.medians(&value)).collect(),
        dotted: true,
    });
    Panel {
        title,
        note: String::new(),
        x,
        y,
        lines: lines.collect(),
    }
}

fn limits(study: &Study, trace: Trace) -> Panel<'static> {
    let courses = Contender::ALL.map(|contender| study.course(trace, contender));
    let lines = courses.map(|course| Line {
        stroke: contender_stroke(course.contender),
        points: course.rides[0].limits.clone(),
        dotted: false,
    });
    let goodputs = courses.map(|course| format!("{:.0}", course.goodput_percent()));
    Panel {
        title: trace.name(),
        note: format!("goodput {} %", goodputs.join(" / ")),
        x: Axis {
            label: "seconds",
            scale: Scale::Linear,
            from: 0.0,
            to: 60.0,
            marks: &[
                (0.0, "0"),
                (15.0, "15"),
                (30.0, "30"),
                (45.0, "45"),
                (60.0, "60"),
            ],
        },
        y: Axis {
            label: "limit (log)",
            scale: Scale::Log,
            from: 4.0,
            to: 256.0,
            marks: &[
                (4.0, "4"),
                (8.0, "8"),
                (16.0, "16"),
                (32.0, "32"),
                (64.0, "64"),
                (128.0, "128"),
                (256.0, "256"),
            ],
        },
        lines: lines.into(),
    }
}

fn discipline_stroke(discipline: Discipline) -> Stroke<'static> {
    let (color, width, dash) = match discipline {
        Discipline::Unbounded => ("#b0b0b0", 2.0, "3 3"),
        Discipline::Fifo => ("#777777", 2.0, ""),
        Discipline::Priority => ("#d55e00", 2.0, ""),
        Discipline::ByLoad => ("#8fd0ff", 1.6, "6 5"),
        Discipline::Drr => ("#009e73", 4.5, ""),
    };
    Stroke {
        name: discipline.name(),
        color,
        width,
        dash,
    }
}

fn contender_stroke(contender: Contender) -> Stroke<'static> {
    let (color, width, dash) = match contender {
        Contender::Fixed => ("#777777", 1.5, "5 4"),
        Contender::Aimd => ("#d55e00", 1.5, ""),
        Contender::Gradient => ("#0072b2", 1.5, ""),
        Contender::Guarded => ("#009e73", 2.2, ""),
    };
    Stroke {
        name: contender.name(),
        color,
        width,
        dash,
    }
}
