//! `bench NAME [--quick] [--json]`: measures, prints, and leaves the judgement to the reader.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use bench::frame::{Benchmark, Effort, measure};
use bench::request::Request;
use bench::{ALL, edge, overload, overload_sim, page, proxy, report, soak};

fn main() -> ExitCode {
    let request = match Request::parse(std::env::args().skip(1).collect()) {
        Ok(request) => request,
        Err(mistake) => {
            eprintln!("{mistake}\n{}", bench::request::USAGE);
            return ExitCode::from(2);
        }
    };
    match perform(request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn perform(request: Request) -> Result<(), String> {
    let named = |name: &str, about: &str| println!("{name:<16} {about}");
    match request {
        Request::List => {
            ALL.iter().for_each(|bench| named(bench.name, bench.about));
            named(overload_sim::NAME, overload_sim::ABOUT);
            named(proxy::NAME, proxy::ABOUT);
            named(edge::NAME, edge::ABOUT);
            named(overload::NAME, overload::ABOUT);
            named(page::NAME, page::ABOUT);
            Ok(())
        }
        Request::Run {
            bench,
            effort,
            json,
        } => {
            run(&bench, effort, json);
            Ok(())
        }
        Request::OverloadSim { effort, json } => overload_sim::overload_sim(effort, json)
            .map_err(|error| format!("the picture could not be written: {error}")),
        Request::Overload {
            effort,
            json,
            wanted,
        } => overload::overload(effort, json, &wanted),
        Request::Proxy {
            effort,
            json,
            wanted,
            instructions,
        } => proxy::proxy(effort, json, &wanted, instructions),
        Request::Edge {
            effort,
            json,
            wanted,
            instructions,
        } => edge::edge(effort, json, &wanted, instructions),
        Request::Page => page::page(),
        Request::Load(manual) => manual
            .run()
            .map(|said| print!("{said}"))
            .map_err(|error| format!("the load could not be sent: {error}")),
        Request::Origin(settings) => {
            bench::origin::serve(settings).map_err(|error| format!("the origin ended: {error}"))
        }
        Request::Soak { minutes } => match soak::soak(minutes) {
            true => Ok(()),
            false => Err("the node did not stay as it was".to_owned()),
        },
    }
}

fn run(bench: &Benchmark, effort: Effort, json: bool) {
    if !json {
        println!("{}", report::heading());
    }
    for metric in (bench.metrics)(effort) {
        let progress = Progress::of(metric.name, effort.rounds());
        let outcome = measure(metric, effort.rounds(), |round| progress.show(round));
        progress.clear();
        if json {
            println!("{}", report::json(bench.name, &outcome));
        } else {
            println!("{}", report::row(&outcome));
        }
    }
}

/// One line on stderr, rewritten in place; nothing when nobody watches.
struct Progress {
    metric: &'static str,
    rounds: usize,
    watched: bool,
}

impl Progress {
    fn of(metric: &'static str, rounds: usize) -> Self {
        Self {
            metric,
            rounds,
            watched: std::io::stderr().is_terminal(),
        }
    }

    fn show(&self, round: usize) {
        self.write(&format!(
            "{}: round {round} of {}",
            self.metric, self.rounds
        ));
    }

    fn clear(&self) {
        self.write("");
    }

    fn write(&self, text: &str) {
        if self.watched {
            let mut stderr = std::io::stderr().lock();
            // A progress line that cannot be written is no reason to stop measuring.
            let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
        }
    }
}
