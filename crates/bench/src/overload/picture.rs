//! What is drawn of the rows: three panels over the scenarios, a line for each contender.

use super::contender::Contender;
use super::row::Row;
use super::scenario::{self, Scenario};
use crate::svg::{Area, Axis, Line, Panel, Scale, Stroke, Svg};

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 536.0;
const MARGIN: f64 = 24.0;
const GUTTER: f64 = 52.0;
const LEGEND_LINES: usize = 7;

/// The whole document.
pub(super) fn svg(rows: &[Row]) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let title =
        "Overload, measured: a polite tenant beside noisy ones, an origin of 32 places × 20 ms";
    svg.heading(MARGIN, 34.0, 18.0, title);
    let legend: Vec<String> = scenario::ALL[..DRAWN]
        .iter()
        .map(|scenario| format!("{} {}", scenario.name, scenario.about))
        .collect();
    for (line, scenarios) in legend.chunks(DRAWN.div_ceil(LEGEND_LINES)).enumerate() {
        let y = 52.0 + 14.0 * line as f64;
        svg.text(MARGIN, y, 10.0, "start", &scenarios.join(" · "));
    }
    svg.legend(MARGIN, 160.0, 170.0, &Contender::ALL.map(stroke));
    let panels = [
        panel(rows, "Polite tenant: answered in time", percent(), |row| {
            row.polite_ok_percent
        }),
        panel(
            rows,
            "Polite tenant: p99 of the answered",
            milliseconds(),
            |row| row.polite_p99_ms,
        ),
        panel(
            rows,
            "Goodput of all, of what is possible",
            percent(),
            |row| row.capacity_percent,
        ),
    ];
    let cell = (WIDTH - 2.0 * MARGIN) / panels.len() as f64;
    for (index, panel) in panels.iter().enumerate() {
        let area = Area {
            left: MARGIN + cell * index as f64 + GUTTER,
            top: 192.0,
            width: cell - GUTTER - 14.0,
            height: 280.0,
        };
        svg.panel(area, panel);
    }
    svg.finish()
}

/// S0 to S19; the others ask other questions.
const DRAWN: usize = 20;

fn panel(
    rows: &[Row],
    title: &'static str,
    y: Axis<'static>,
    value: fn(&Row) -> Option<f64>,
) -> Panel<'static> {
    let line = |contender: Contender| {
        let at = |(index, scenario): (usize, &Scenario)| {
            let names = (contender.name(), scenario.name);
            let row = rows
                .iter()
                .find(|row| (row.contender.as_str(), row.scenario.as_str()) == names);
            row.and_then(value).map(|value| (index as f64, value))
        };
        let scenarios = scenario::ALL[..DRAWN].iter().enumerate();
        Line {
            stroke: stroke(contender),
            points: scenarios.filter_map(at).collect(),
            dotted: true,
        }
    };
    let x = Axis {
        label: "scenario",
        scale: Scale::Linear,
        from: -0.3,
        to: 19.3,
        marks: &[
            (0.0, "S0"),
            (1.0, "S1"),
            (2.0, "S2"),
            (3.0, "S3"),
            (4.0, "S4"),
            (5.0, "S5"),
            (6.0, "S6"),
            (7.0, "S7"),
            (8.0, "S8"),
            (9.0, "S9"),
            (10.0, "S10"),
            (11.0, "S11"),
            (12.0, "S12"),
            (13.0, "S13"),
            (14.0, "S14"),
            (15.0, "S15"),
            (16.0, "S16"),
            (17.0, "S17"),
            (18.0, "S18"),
            (19.0, "S19"),
        ],
    };
    Panel {
        title,
        note: String::new(),
        x,
        y,
        lines: Contender::ALL.map(line).into(),
    }
}

fn percent() -> Axis<'static> {
    Axis {
        label: "%",
        scale: Scale::Linear,
        from: 0.0,
        to: 105.0,
        marks: &[
            (0.0, "0"),
            (25.0, "25"),
            (50.0, "50"),
            (75.0, "75"),
            (100.0, "100"),
        ],
    }
}

fn milliseconds() -> Axis<'static> {
    Axis {
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
    }
}

fn stroke(contender: Contender) -> Stroke<'static> {
    let (color, width, dash) = match contender {
        Contender::NginxPackaged => ("#b0b0b0", 1.6, "3 3"),
        Contender::NginxMaxConns => ("#777777", 1.6, "6 4"),
        Contender::NginxLimitConn => ("#333333", 1.6, ""),
        Contender::HaproxyQueue => ("#56b4e9", 1.6, "6 4"),
        Contender::HaproxyExpert => ("#0072b2", 2.0, ""),
        Contender::OursLimited => ("#009e73", 2.6, ""),
        Contender::OursFound => ("#d55e00", 2.6, ""),
    };
    Stroke {
        name: contender.name(),
        color,
        width,
        dash,
    }
}
