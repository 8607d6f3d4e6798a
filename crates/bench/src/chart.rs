//! A picture that is kept as data, drawn for a page: axes marked at round numbers, names below.

use crate::sheet::{self, Plot};
use crate::svg::{Area, Axis, Home, Line, Panel, Scale, Stroke, Svg};

const WIDTH: f64 = 640.0;
const PLOT: Area = Area {
    left: 62.0,
    top: 44.0,
    width: 560.0,
    height: 250.0,
};
const LEGEND_TOP: f64 = PLOT.top + PLOT.height + 54.0;
const LEGEND_CELL: f64 = 200.0;
const LEGEND_COLUMNS: usize = 3;
const LEGEND_LINE: f64 = 18.0;
/// Defined by the page, for light and for dark; the first is ours.
const COLORS: [&str; 8] = [
    "var(--c0)",
    "var(--c1)",
    "var(--c2)",
    "var(--c3)",
    "var(--c4)",
    "var(--c5)",
    "var(--c6)",
    "var(--c7)",
];
const OURS: &str = "macronode";

/// Nothing when there is nothing to draw.
pub(crate) fn draw(plot: &Plot) -> Option<String> {
    let points = || plot.lines.iter().flat_map(|line| line.points.iter());
    let x = Span::of(&plot.x, points().map(|point| point.0))?;
    let y = Span::of(&plot.y, points().map(|point| point.1))?;
    let (x_marks, y_marks) = (x.marks(), y.marks());
    let (x_marks, y_marks) = (borrowed(&x_marks), borrowed(&y_marks));
    let strokes = strokes(plot);
    let line = |(index, line): (usize, &sheet::Series)| Line {
        stroke: strokes[index],
        points: line.points.clone(),
        dotted: line.points.len() <= 24,
    };
    let panel = Panel {
        title: &plot.title,
        note: plot.note.clone(),
        x: x.axis(&plot.x, &x_marks),
        y: y.axis(&plot.y, &y_marks),
        lines: plot.lines.iter().enumerate().map(line).collect(),
    };
    let rows = plot.lines.len().div_ceil(LEGEND_COLUMNS) as f64;
    let mut svg = Svg::at(Home::Page, WIDTH, LEGEND_TOP + rows * LEGEND_LINE);
    svg.panel(PLOT, &panel);
    for (at, word) in &plot.marks {
        let across = panel.x.across(PLOT, *at);
        let (top, bottom) = (PLOT.top, PLOT.top + PLOT.height);
        svg.rule((across, top), (across, bottom), "currentColor");
        svg.text(across + 4.0, top + 12.0, 11.0, "start", word);
    }
    for (row, strokes) in strokes.chunks(LEGEND_COLUMNS).enumerate() {
        let down = LEGEND_TOP + row as f64 * LEGEND_LINE;
        svg.legend(20.0, down, LEGEND_CELL, strokes);
    }
    Some(svg.finish())
}

/// Ours has the first colour, wherever it stands; the others have theirs in order.
fn strokes(plot: &Plot) -> Vec<Stroke<'_>> {
    let mut others = 0;
    let stroke = |line: &'_ sheet::Series| {
        let ours = line.name.starts_with(OURS) || line.name == "ours";
        let next = if ours {
            0
        } else {
            1 + others % (COLORS.len() - 1)
        };
        others += usize::from(!ours);
        (next, ours)
    };
    let looks: Vec<(usize, bool)> = plot.lines.iter().map(stroke).collect();
    let named = plot.lines.iter().zip(looks);
    named
        .map(|(line, (color, ours))| Stroke {
            name: &line.name,
            color: COLORS[color],
            width: if ours { 2.6 } else { 1.7 },
            dash: "",
        })
        .collect()
}

fn borrowed(marks: &[(f64, String)]) -> Vec<(f64, &str)> {
    marks
        .iter()
        .map(|(at, text)| (*at, text.as_str()))
        .collect()
}

/// From where to where, in round numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    from: f64,
    to: f64,
    log: bool,
}

impl Span {
    fn of(axis: &sheet::Axis, values: impl Iterator<Item = f64>) -> Option<Self> {
        let log = axis.log;
        let values: Vec<f64> = values
            .filter(|value| value.is_finite() && (!log || *value > 0.0))
            .collect();
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        let (from, to) = match log {
            true => (
                10_f64.powf(least.log10().floor()),
                10_f64.powf(most.log10().ceil()),
            ),
            false => (least.min(0.0), most + step(most - least.min(0.0)) * 0.5),
        };
        // One value alone has no extent, and needs some to be seen.
        let to = match (to > from, log) {
            (true, _) => to,
            (false, true) => from * 10.0,
            (false, false) => from + 1.0,
        };
        Some(Self { from, to, log })
    }

    fn marks(self) -> Vec<(f64, String)> {
        let mut marks = Vec::new();
        let (mut at, step) = match self.log {
            true => (self.from, 10.0),
            false => {
                let step = step(self.to - self.from);
                ((self.from / step).ceil() * step, step)
            }
        };
        while at <= self.to * (1.0 + 1e-9) && marks.len() < 16 {
            // Steps from below meet nought with a sign that nobody wants to read.
            marks.push((at, short(if at.abs() < step * 1e-9 { 0.0 } else { at })));
            at = if self.log { at * step } else { at + step };
        }
        marks
    }

    fn axis<'a>(self, axis: &'a sheet::Axis, marks: &'a [(f64, &'a str)]) -> Axis<'a> {
        let scale = match self.log {
            true => Scale::Log,
            false => Scale::Linear,
        };
        Axis {
            label: &axis.label,
            scale,
            from: self.from,
            to: self.to,
            marks,
        }
    }
}

/// 1, 2 or 5 times a power of ten, so that some six fit.
fn step(extent: f64) -> f64 {
    if extent <= 0.0 {
        return 1.0;
    }
    let rough = extent / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0];
    let fits = times.into_iter().find(|times| times * power >= rough);
    fits.unwrap_or(10.0) * power
}

/// `20k` rather than `20000`.
fn short(number: f64) -> String {
    let trimmed = |number: f64| {
        let text = format!("{number:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match number.abs() {
        size if size >= 1e6 => format!("{}M", trimmed(number / 1e6)),
        size if size >= 1e4 => format!("{}k", trimmed(number / 1e3)),
        _ => trimmed(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Series;

    fn plot(log: bool, points: &[(f64, f64)]) -> Plot {
        let axis = |label: &str| sheet::Axis {
            label: label.to_owned(),
            log,
        };
        let line = |name: &str| Series {
            name: name.to_owned(),
            points: points.to_vec(),
        };
        Plot {
            title: "cost".to_owned(),
            x: axis("n"),
            y: axis("µs"),
            lines: vec![line("nginx"), line("macronode")],
            marks: vec![(points[0].0, "SIGTERM".to_owned())],
            ..Plot::default()
        }
    }

    #[test]
    fn ours_has_the_same_colour_everywhere() {
        let drawn = draw(&plot(true, &[(10.0, 1.0), (1e6, 30.0)])).unwrap();
        assert_eq!(drawn.matches("stroke=\"var(--c0)\"").count(), 2);
        assert_eq!(drawn.matches("stroke=\"var(--c1)\"").count(), 2);
        assert!(drawn.contains("SIGTERM") && drawn.contains(">1M<"));
        assert!(!drawn.contains("#fff"), "a page has its own background");
    }

    #[test]
    fn axes_are_marked_at_round_numbers() {
        assert_eq!(step(100.0), 20.0);
        assert_eq!(step(7.0), 2.0);
        assert_eq!(step(0.0), 1.0);
        let axis = sheet::Axis::linear("n");
        let span = Span::of(&axis, [3.0, 97.0].into_iter()).unwrap();
        let marks: Vec<String> = span.marks().into_iter().map(|mark| mark.1).collect();
        assert_eq!(marks, ["0", "20", "40", "60", "80", "100"]);
        let below = Span::of(&axis, [-1.0, 1.0].into_iter()).unwrap();
        assert!(below.marks().iter().any(|mark| mark.1 == "0"));
        assert_eq!(short(20_000.0), "20k");
        assert_eq!(short(0.25), "0.25");
    }

    #[test]
    fn what_cannot_lie_on_an_axis_is_left_out() {
        let axis = sheet::Axis::log("n");
        assert_eq!(Span::of(&axis, [0.0, f64::NAN].into_iter()), None);
        let one = Span::of(&axis, [10.0].into_iter()).unwrap();
        assert!(one.to > one.from);
        assert_eq!(draw(&Plot::default()), None);
    }
}
