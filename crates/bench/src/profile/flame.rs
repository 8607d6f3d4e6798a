//! A flame graph: as wide as a function and what it calls took, one step up a call.

use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const STEP: f64 = 17.0;
const TOP: f64 = 34.0;
/// What is narrower cannot be seen.
const NARROWEST: f64 = 0.6;
/// A letter's width, so that a name is cut where its box ends.
const LETTER: f64 = 6.4;

/// A function below its caller, with all it took.
#[derive(Debug, Default, PartialEq)]
struct Frame {
    count: u64,
    callees: BTreeMap<String, Frame>,
}

impl Frame {
    fn of(stacks: &BTreeMap<String, u64>) -> Self {
        let mut root = Self::default();
        for (stack, count) in stacks {
            root.count += count;
            let mut frame = &mut root;
            for name in stack.split(';') {
                frame = frame.callees.entry(name.to_owned()).or_default();
                frame.count += count;
            }
        }
        root
    }

    /// How many steps can be seen, with so much width for it.
    fn depth(&self, width: f64) -> usize {
        let deeper = self.callees.values().map(|callee| {
            let part = width * callee.count as f64 / self.count.max(1) as f64;
            if part < NARROWEST {
                0
            } else {
                1 + callee.depth(part)
            }
        });
        deeper.max().unwrap_or(0)
    }
}

/// The whole document; a box tells its name and part when pointed at.
pub(super) fn draw(title: &str, stacks: &BTreeMap<String, u64>) -> String {
    let root = Frame::of(stacks);
    let height = TOP + STEP * (root.depth(WIDTH) + 1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"8\" y=\"20\" font-size=\"14\">{}: {} samples or instructions; ours is orange</text>\n",
        escaped(title),
        root.count
    );
    let sheet = Sheet {
        all: root.count.max(1) as f64,
        bottom: height,
    };
    sheet.callees(&mut svg, &root, 0.0, 0);
    svg + "</svg>\n"
}

struct Sheet {
    all: f64,
    bottom: f64,
}

impl Sheet {
    fn callees(&self, svg: &mut String, frame: &Frame, left: f64, step: usize) {
        let mut left = left;
        for (name, callee) in &frame.callees {
            let width = WIDTH * callee.count as f64 / self.all;
            if width >= NARROWEST {
                self.bar(svg, name, callee, (left, width), step);
                self.callees(svg, callee, left, step + 1);
            }
            left += width;
        }
    }

    fn bar(
        &self,
        svg: &mut String,
        name: &str,
        frame: &Frame,
        (left, width): (f64, f64),
        step: usize,
    ) {
        let top = self.bottom - STEP * (step + 1) as f64;
        let percent = frame.count as f64 * 100.0 / self.all;
        let letters = ((width - 4.0) / LETTER).max(0.0) as usize;
        let shown: String = if letters < 3 {
            String::new()
        } else {
            name.chars().take(letters).collect()
        };
        let color = if is_ours(name) { "#f4a259" } else { "#cfd8dc" };
        let bar = writeln!(
            svg,
            "<g><title>{0} {percent:.1} %</title><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"{1}\" fill=\"{color}\" stroke=\"#fff\" stroke-width=\"0.5\"/>\
             <text x=\"{2:.1}\" y=\"{3:.1}\">{4}</text></g>",
            escaped(name),
            STEP - 1.0,
            left + 2.0,
            top + 12.0,
            escaped(&shown)
        );
        bar.expect("a string takes all text");
    }
}

/// Names of our crates, as the compiler writes them.
const OURS: &[&str] = &[
    "bench",
    "bounded_ring",
    "concurrency_gate",
    "fair_queue",
    "front_door",
    "http1_wire",
    "http_rules",
    "kernel",
    "macronode",
    "oap",
    "passport",
    "rate_quota",
    "strict_config",
    "svc_",
    "tile_pack",
    "upstream",
    "verified_store",
];

fn is_ours(name: &str) -> bool {
    let name = name.trim_start_matches(['<', '&']);
    OURS.iter().any(|ours| name.starts_with(ours))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks() -> BTreeMap<String, u64> {
        let stacks = [
            ("main;svc_gateway::serve;read", 3),
            ("main;<tokio>::park", 1),
            ("main", 4),
        ];
        stacks
            .map(|(stack, count)| (stack.to_owned(), count))
            .into()
    }

    #[test]
    fn a_function_is_as_wide_as_it_and_its_callees() {
        let drawn = draw("proxy", &stacks());
        assert!(drawn.contains("<title>main 100.0 %</title>"));
        assert!(drawn.contains("<title>svc_gateway::serve 37.5 %</title>"));
        assert!(drawn.contains("<title>&lt;tokio&gt;::park 12.5 %</title>"));
        assert!(
            drawn.contains("width=\"450.0\""),
            "three eighths of the width"
        );
        assert_eq!(drawn.matches("#f4a259").count(), 1);
        assert_eq!(drawn.matches("<g>").count(), drawn.matches("</g>").count());
    }

    #[test]
    fn what_cannot_be_seen_is_not_drawn_and_makes_no_room() {
        let stacks = [("a".to_owned(), 100_000), ("a;b;c;d".to_owned(), 1)].into();
        let drawn = draw("x", &stacks);
        assert_eq!(drawn.matches("<title>").count(), 1);
        assert!(drawn.contains(&format!("viewBox=\"0 0 1200 {}\"", TOP + 2.0 * STEP)));
    }
}
