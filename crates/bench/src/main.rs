//! `bench NAME [--quick] [--json]`: measures, prints, and leaves the judgement to the reader.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use bench::ALL;
use bench::frame::{Benchmark, Effort, measure};
use bench::{overload_sim, report};

const USAGE: &str =
    "usage: bench NAME [--quick] [--json]\n       bench --list\n       bench soak [--minutes N]";

fn main() -> ExitCode {
    match Request::parse(std::env::args().skip(1)) {
        Ok(Request::List) => {
            ALL.iter()
                .map(|bench| (bench.name, bench.about))
                .chain([(overload_sim::NAME, overload_sim::ABOUT)])
                .for_each(|(name, about)| println!("{name:<16} {about}"));
            ExitCode::SUCCESS
        }
        Ok(Request::Run {
            bench,
            effort,
            json,
        }) => {
            run(&bench, effort, json);
            ExitCode::SUCCESS
        }
        Ok(Request::OverloadSim { effort, json }) => {
            match overload_sim::overload_sim(effort, json) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("the picture could not be written: {error}");
                    ExitCode::FAILURE
                }
            }
        }
        Ok(Request::Soak { minutes }) => match bench::soak::soak(minutes) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        },
        Err(mistake) => {
            eprintln!("{mistake}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

#[derive(Debug)]
enum Request {
    List,
    Soak {
        minutes: f64,
    },
    OverloadSim {
        effort: Effort,
        json: bool,
    },
    Run {
        bench: Benchmark,
        effort: Effort,
        json: bool,
    },
}

impl Request {
    fn parse_soak(arguments: &[String]) -> Result<Self, String> {
        let minutes = match arguments {
            [] => Some(10.0),
            [flag, minutes] if flag == "--minutes" => minutes.parse().ok(),
            _ => None,
        };
        let minutes = minutes.filter(|minutes: &f64| (0.1..=1440.0).contains(minutes));
        minutes
            .map(|minutes| Self::Soak { minutes })
            .ok_or("soak takes --minutes N with N from 0.1 to 1440".to_owned())
    }

    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let arguments: Vec<String> = arguments.collect();
        if arguments.first().is_some_and(|first| first == "soak") {
            return Self::parse_soak(&arguments[1..]);
        }
        let (mut name, mut effort, mut json) = (None, Effort::Full, false);
        for argument in arguments {
            match argument.as_str() {
                "--list" => return Ok(Self::List),
                "--quick" => effort = Effort::Quick,
                "--json" => json = true,
                flag if flag.starts_with('-') => return Err(format!("unknown option {flag}")),
                _ if name.is_some() => return Err("one benchmark at a time".to_owned()),
                _ => name = Some(argument),
            }
        }
        let name = name.ok_or("which benchmark?")?;
        if name == overload_sim::NAME {
            return Ok(Self::OverloadSim { effort, json });
        }
        let bench = ALL.iter().find(|bench| bench.name == name);
        let bench = *bench.ok_or_else(|| format!("no benchmark is called {name}"))?;
        Ok(Self::Run {
            bench,
            effort,
            json,
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_benchmark_can_be_asked_for_by_name() {
        for bench in ALL {
            let asked = parse(&format!("{} --quick --json", bench.name));
            let Ok(Request::Run {
                bench: found,
                effort,
                json,
            }) = asked
            else {
                panic!("{asked:?}")
            };
            assert_eq!(
                (found.name, effort, json),
                (bench.name, Effort::Quick, true)
            );
        }
        assert!(matches!(parse("--list"), Ok(Request::List)));
        assert!(matches!(
            parse("overload-sim --quick"),
            Ok(Request::OverloadSim {
                effort: Effort::Quick,
                json: false
            })
        ));
    }

    #[test]
    fn a_mistake_is_named() {
        assert_eq!(parse("").unwrap_err(), "which benchmark?");
        assert_eq!(
            parse("nonsense").unwrap_err(),
            "no benchmark is called nonsense"
        );
        assert_eq!(parse("queue --fast").unwrap_err(), "unknown option --fast");
        assert_eq!(parse("queue queue").unwrap_err(), "one benchmark at a time");
    }
}
