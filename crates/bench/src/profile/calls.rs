//! Stacks from a graph of calls, where no sampler is to be had: callgrind knows who called whom at what cost.
//!
//! It does not know through whom. A function's cost is shared among its callers by what each of them caused, which is
//! exact wherever a function does the same for everybody.

use std::collections::{BTreeMap, HashMap};

/// Narrower than this part of the whole nothing is followed.
const LEAST_PART: f64 = 0.001;
const DEPTH_MAX: usize = 48;

#[derive(Debug, Default)]
struct Function {
    own: u64,
    /// By callee, what the calls cost with all they caused.
    calls: BTreeMap<String, u64>,
    is_called: bool,
}

impl Function {
    fn whole(&self) -> u64 {
        self.own + self.calls.values().sum::<u64>()
    }
}

/// Folded stacks out of what callgrind left behind (written with `--compress-strings=no --compress-pos=no`).
pub(super) fn folded(text: &str) -> BTreeMap<String, u64> {
    let functions = parse(text);
    let whole: u64 = functions.values().map(|function| function.own).sum();
    let roots = functions.iter().filter(|(_, function)| !function.is_called);
    let mut walk = Walk {
        functions: &functions,
        least: whole as f64 * LEAST_PART,
        path: Vec::new(),
        stacks: BTreeMap::new(),
    };
    for (name, root) in roots {
        walk.enter(name, root.whole() as f64);
    }
    walk.stacks
}

fn parse(text: &str) -> HashMap<String, Function> {
    let mut functions: HashMap<String, Function> = HashMap::new();
    let (mut current, mut callee, mut is_call) = (String::new(), String::new(), false);
    let (mut file, mut callee_file) = ("", None);
    for line in text.lines() {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match key {
            "fl" => file = value,
            "fn" => current = named(value, file),
            "cfi" | "cfl" => callee_file = Some(value),
            "cfn" => callee = named(value, callee_file.take().unwrap_or(file)),
            "calls" => is_call = true,
            _ if key.starts_with(|first: char| first.is_ascii_digit()) => {
                let cost = line.split(' ').nth(1).and_then(|cost| cost.parse().ok());
                let cost: u64 = cost.unwrap_or(0);
                let function = functions.entry(current.clone()).or_default();
                if !std::mem::take(&mut is_call) {
                    function.own += cost;
                } else if callee != current {
                    *function.calls.entry(callee.clone()).or_default() += cost;
                    functions.entry(callee.clone()).or_default().is_called = true;
                }
            }
            _ => {}
        }
    }
    functions
}

/// A function that calls itself is told apart by a number nobody asked for; what runs before `main` has one name for
/// two functions, which only their files tell apart.
fn named(name: &str, file: &str) -> String {
    if name == BELOW_MAIN {
        let file = file.rsplit('/').next().unwrap_or(file);
        return format!("{BELOW_MAIN} {file}");
    }
    name.split('\'').next().unwrap_or(name).replace(';', ",")
}

const BELOW_MAIN: &str = "(below main)";

struct Walk<'a> {
    functions: &'a HashMap<String, Function>,
    least: f64,
    path: Vec<String>,
    stacks: BTreeMap<String, u64>,
}

impl Walk<'_> {
    /// Goes into a function with the part of its cost that this way to it caused.
    fn enter(&mut self, name: &str, cost: f64) {
        let circle = self.path.iter().any(|above| above == name);
        if cost < self.least || self.path.len() >= DEPTH_MAX || circle {
            self.note(cost);
            return;
        }
        let Some(function) = self.functions.get(name) else {
            return self.note(cost);
        };
        let part = cost / function.whole().max(1) as f64;
        self.path.push(name.to_owned());
        self.note(function.own as f64 * part);
        for (callee, inside) in &function.calls {
            self.enter(callee, *inside as f64 * part);
        }
        self.path.pop();
    }

    fn note(&mut self, cost: f64) {
        if cost >= 1.0 && !self.path.is_empty() {
            *self.stacks.entry(self.path.join(";")).or_default() += cost as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: &str = "events: Ir\nfn=main\n1 10\ncfn=a\ncalls=1 0\n2 300\ncfn=b\ncalls=1 0\n3 690\n\n\
                         fn=a\n4 100\ncfn=shared\ncalls=2 0\n5 200\n\nfn=b\n6 90\ncfn=shared\ncalls=6 0\n7 600\n\n\
                         fn=shared\n8 800\n";

    #[test]
    fn a_shared_cost_is_split_by_who_caused_it() {
        let stacks = folded(GRAPH);
        let expected = [
            ("main", 10),
            ("main;a", 100),
            ("main;a;shared", 200),
            ("main;b", 90),
            ("main;b;shared", 600),
        ];
        let expected = expected.map(|(stack, cost)| (stack.to_owned(), cost));
        assert_eq!(stacks.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_runs_before_main_is_no_circle() {
        let graph = "fl=/a/start.c\nfn=(below main)\n1 10\ncfi=/b/libc.c\ncfn=begin\ncalls=1 0\n2 90\n\n\
                     fl=/b/libc.c\nfn=begin\n3 20\ncfi=/c/call_main.h\ncfn=(below main)\ncalls=1 0\n4 70\n\n\
                     fl=/c/call_main.h\nfn=(below main)\n5 70\n";
        let stacks = folded(graph);
        let deepest = "(below main) start.c;begin;(below main) call_main.h";
        assert_eq!(stacks.get(deepest), Some(&70));
    }

    #[test]
    fn a_circle_ends_and_loses_nothing() {
        let graph = "fn=main\n1 100\ncfn=a\ncalls=1 0\n2 1000\n\nfn=a\n3 400\ncfn=b\ncalls=1 0\n4 600\n\n\
                     fn=b\n5 300\ncfn=a\ncalls=1 0\n6 300\n";
        let stacks = folded(graph);
        assert_eq!(stacks.values().sum::<u64>(), 1_100);
        assert!(folded("").is_empty());
    }
}
