//! As much of SVG as line charts need: panels with axes, lines, a legend.

use std::fmt::{Arguments, Write};

const FONT: &str = "font-family=\"Helvetica, Arial, sans-serif\"";

/// Where a picture is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In a file of its own, on white.
    File,
    /// Within a page, as wide as there is room, in the page's colours.
    Page,
}

/// A document under construction.
pub(crate) struct Svg {
    body: String,
    width: f64,
    height: f64,
    home: Home,
}

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

pub(crate) struct Axis<'a> {
    pub(crate) label: &'a str,
    pub(crate) scale: Scale,
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Where it is marked, and with what.
    pub(crate) marks: &'a [(f64, &'a str)],
}

/// How a line looks; the same in panels and legend.
#[derive(Clone, Copy)]
pub(crate) struct Stroke<'a> {
    pub(crate) name: &'a str,
    pub(crate) color: &'a str,
    pub(crate) width: f64,
    /// Lengths of dash and gap, or nothing.
    pub(crate) dash: &'a str,
}

pub(crate) struct Line<'a> {
    pub(crate) stroke: Stroke<'a>,
    pub(crate) points: Vec<(f64, f64)>,
    /// Whether each point is shown.
    pub(crate) dotted: bool,
}

/// Where something stands, in pixels.
#[derive(Clone, Copy)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

pub(crate) struct Panel<'a> {
    pub(crate) title: &'a str,
    /// A line below the title, or nothing.
    pub(crate) note: String,
    pub(crate) x: Axis<'a>,
    pub(crate) y: Axis<'a>,
    pub(crate) lines: Vec<Line<'a>>,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self::at(Home::File, width, height)
    }

    pub(crate) fn at(home: Home, width: f64, height: f64) -> Self {
        Self {
            body: String::new(),
            width,
            height,
            home,
        }
    }

    fn ink(&self) -> &'static str {
        match self.home {
            Home::File => "#222",
            Home::Page => "currentColor",
        }
    }

    fn faint(&self) -> &'static str {
        match self.home {
            Home::File => "#e4e4e4",
            Home::Page => "var(--faint)",
        }
    }

    pub(crate) fn finish(self) -> String {
        let (width, height, body) = (self.width, self.height, self.body);
        if self.home == Home::Page {
            return format!(
                "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" {FONT}>\n{body}</svg>\n"
            );
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" {FONT}>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
        )
    }

    /// `anchor` is `start`, `middle` or `end`.
    pub(crate) fn text(&mut self, x: f64, y: f64, size: f64, anchor: &str, text: &str) {
        let (text, ink) = (escaped(text), self.ink());
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
             fill=\"{ink}\">{text}</text>\n"
        ));
    }

    pub(crate) fn heading(&mut self, x: f64, y: f64, size: f64, text: &str) {
        let (text, ink) = (escaped(text), self.ink());
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" font-weight=\"bold\" \
             fill=\"{ink}\">{text}</text>\n"
        ));
    }

    /// Names of lines side by side, each in its cell.
    pub(crate) fn legend(&mut self, x: f64, y: f64, cell: f64, strokes: &[Stroke<'_>]) {
        for (index, stroke) in strokes.iter().enumerate() {
            let left = x + cell * index as f64;
            self.polyline(stroke, &[(left, y - 4.0), (left + 26.0, y - 4.0)]);
            self.text(left + 32.0, y, 12.0, "start", stroke.name);
        }
    }

    pub(crate) fn panel(&mut self, area: Area, panel: &Panel<'_>) {
        let title_up = if panel.note.is_empty() { 10.0 } else { 26.0 };
        self.heading(area.left, area.top - title_up, 13.0, panel.title);
        self.text(area.left, area.top - 10.0, 11.0, "start", &panel.note);
        self.grid(area, panel);
        let place = |(x, y)| (panel.x.across(area, x), panel.y.up(area, y));
        for line in &panel.lines {
            let points: Vec<(f64, f64)> = line.points.iter().copied().map(place).collect();
            self.polyline(&line.stroke, &points);
            if line.dotted {
                self.dots(&line.stroke, &points);
            }
        }
    }

    fn grid(&mut self, area: Area, panel: &Panel<'_>) {
        let (right, bottom) = (area.left + area.width, area.top + area.height);
        let (ink, faint) = (self.ink(), self.faint());
        for (value, text) in panel.x.marks {
            let x = panel.x.across(area, *value);
            self.rule((x, area.top), (x, bottom), faint);
            self.text(x, bottom + 15.0, 11.0, "middle", text);
        }
        for (value, text) in panel.y.marks {
            let y = panel.y.up(area, *value);
            self.rule((area.left, y), (right, y), faint);
            self.text(area.left - 6.0, y + 4.0, 11.0, "end", text);
        }
        self.rule((area.left, bottom), (right, bottom), ink);
        self.rule((area.left, area.top), (area.left, bottom), ink);
        let middle = area.left + area.width / 2.0;
        self.text(middle, bottom + 31.0, 11.0, "middle", panel.x.label);
        let (x, y) = (area.left - 42.0, area.top + area.height / 2.0);
        self.add(format_args!(
            "<g transform=\"translate({x:.1} {y:.1}) rotate(-90)\">"
        ));
        self.text(0.0, 0.0, 11.0, "middle", panel.y.label);
        self.add(format_args!("</g>\n"));
    }

    pub(crate) fn rule(&mut self, from: (f64, f64), to: (f64, f64), color: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" \
             stroke=\"{color}\"/>\n"
        ));
    }

    fn polyline(&mut self, stroke: &Stroke<'_>, points: &[(f64, f64)]) {
        let points: String = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1} "))
            .collect();
        let Stroke {
            color, width, dash, ..
        } = stroke;
        self.add(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" \
             stroke-dasharray=\"{dash}\" stroke-linejoin=\"round\"/>\n",
            points.trim_end()
        ));
    }

    fn dots(&mut self, stroke: &Stroke<'_>, points: &[(f64, f64)]) {
        let (color, radius) = (stroke.color, stroke.width + 0.7);
        for (x, y) in points {
            self.add(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{color}\"/>\n"
            ));
        }
    }

    fn add(&mut self, text: Arguments<'_>) {
        self.body.write_fmt(text).expect("a string takes all text");
    }
}

impl Axis<'_> {
    pub(crate) fn across(&self, area: Area, value: f64) -> f64 {
        area.left + area.width * self.part(value)
    }

    fn up(&self, area: Area, value: f64) -> f64 {
        area.top + area.height * (1.0 - self.part(value))
    }

    /// 0 at the beginning of the axis, 1 at its end; what lies beyond is put on the edge.
    fn part(&self, value: f64) -> f64 {
        let on = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log => value.ln(),
        };
        let value = value.clamp(self.from, self.to);
        (on(value) - on(self.from)) / (on(self.to) - on(self.from))
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: &[(f64, &str)] = &[(1.0, "1"), (100.0, "<100 & more")];

    fn panel(points: Vec<(f64, f64)>) -> String {
        let axis = |scale| Axis {
            label: "x",
            scale,
            from: 1.0,
            to: 100.0,
            marks: MARKS,
        };
        let stroke = Stroke {
            name: "line",
            color: "#000",
            width: 1.0,
            dash: "",
        };
        let area = Area {
            left: 0.0,
            top: 0.0,
            width: 100.0,
            height: 100.0,
        };
        let mut svg = Svg::new(200.0, 200.0);
        let lines = vec![Line {
            stroke,
            points,
            dotted: true,
        }];
        svg.panel(
            area,
            &Panel {
                title: "title",
                note: "note".to_owned(),
                x: axis(Scale::Log),
                y: axis(Scale::Linear),
                lines,
            },
        );
        svg.finish()
    }

    #[test]
    fn a_logarithmic_axis_has_its_middle_at_the_geometric_mean() {
        let drawn = panel(vec![(1.0, 1.0), (10.0, 50.5), (100.0, 100.0)]);
        assert!(
            drawn.contains("points=\"0.0,100.0 50.0,50.0 100.0,0.0\""),
            "{drawn}"
        );
    }

    #[test]
    fn nothing_is_drawn_outside_of_its_panel() {
        let drawn = panel(vec![(0.0, -5.0), (1e9, 1e9)]);
        assert!(drawn.contains("points=\"0.0,100.0 100.0,0.0\""), "{drawn}");
    }

    #[test]
    fn text_is_escaped_and_elements_are_closed() {
        let drawn = panel(vec![(1.0, 1.0)]);
        assert!(drawn.contains("&lt;100 &amp; more"));
        for element in ["svg", "g", "text"] {
            let opened = drawn.matches(&format!("<{element} ")).count();
            assert_eq!(opened, drawn.matches(&format!("</{element}>")).count());
        }
    }
}
