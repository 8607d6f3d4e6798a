//! What the command line asks for.

use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use crate::frame::{Benchmark, Effort};
use crate::load::manual::Manual;
use crate::origin::{PLACES, SERVICE, Settings};
use crate::results::Wanted;
use crate::{ALL, edge, overload, overload_sim, proxy};

/// How to ask.
pub const USAGE: &str = "usage: bench NAME [--quick] [--json] [--only WORD,...]
       bench proxy|edge ... [--instructions]
       bench page
       bench --list
       bench soak [--minutes N]
       bench load --target ADDR [--path PATH] [--tenant NAME] [--rate N] [--seconds N]
       bench origin [--listen ADDR] [--places N] [--service-ms N] [--core N]";

/// What is to be done.
#[derive(Debug)]
#[expect(missing_docs, reason = "each variant is named after its command")]
pub enum Request {
    List,
    Soak {
        minutes: f64,
    },
    Origin(Settings),
    Load(Manual),
    Overload {
        effort: Effort,
        json: bool,
        wanted: Wanted,
    },
    OverloadSim {
        effort: Effort,
        json: bool,
    },
    Proxy {
        effort: Effort,
        json: bool,
        wanted: Wanted,
        instructions: bool,
    },
    Edge {
        effort: Effort,
        json: bool,
        wanted: Wanted,
        instructions: bool,
    },
    Page,
    Run {
        bench: Benchmark,
        effort: Effort,
        json: bool,
    },
}

impl Request {
    /// From the words after the program's name; else a sentence about what is wrong with them.
    pub fn parse(mut words: Vec<String>) -> Result<Self, String> {
        let options = Options::take(&mut words)?;
        let first = words.first().map(String::as_str);
        if first == Some("--list") {
            return Ok(Self::List);
        }
        let [name] = words.as_slice() else {
            return Err(match first {
                None => "which benchmark?".to_owned(),
                Some(_) => "one benchmark at a time".to_owned(),
            });
        };
        options.applied(name)
    }
}

/// Everything that begins with two dashes.
struct Options {
    given: Vec<(String, Option<String>)>,
}

/// Options that take no value.
const FLAGS: [&str; 3] = ["--quick", "--json", "--instructions"];

impl Options {
    /// `--name VALUE` and `--name=VALUE` are the same.
    fn take(words: &mut Vec<String>) -> Result<Self, String> {
        let (mut given, mut rest) = (Vec::new(), Vec::new());
        let mut all = std::mem::take(words).into_iter();
        while let Some(word) = all.next() {
            if !word.starts_with('-') || word == "--list" {
                rest.push(word);
            } else if FLAGS.contains(&word.as_str()) {
                given.push((word, None));
            } else if let Some((name, value)) = word.split_once('=') {
                given.push((name.to_owned(), Some(value.to_owned())));
            } else {
                given.push((word, all.next()));
            }
        }
        *words = rest;
        Ok(Self { given })
    }

    fn applied(mut self, name: &str) -> Result<Request, String> {
        let request = match name {
            "soak" => self.soak()?,
            "origin" => Request::Origin(self.origin()?),
            "load" => Request::Load(self.load()?),
            overload::NAME => Request::Overload {
                effort: self.effort(),
                json: self.flag("--json"),
                wanted: self.wanted()?,
            },
            proxy::NAME => Request::Proxy {
                effort: self.effort(),
                json: self.flag("--json"),
                wanted: self.wanted()?,
                instructions: self.flag("--instructions"),
            },
            edge::NAME => Request::Edge {
                effort: self.effort(),
                json: self.flag("--json"),
                wanted: self.wanted()?,
                instructions: self.flag("--instructions"),
            },
            "page" => Request::Page,
            overload_sim::NAME => Request::OverloadSim {
                effort: self.effort(),
                json: self.flag("--json"),
            },
            _ => {
                let bench = ALL.iter().find(|bench| bench.name == name);
                Request::Run {
                    bench: *bench.ok_or_else(|| format!("no benchmark is called {name}"))?,
                    effort: self.effort(),
                    json: self.flag("--json"),
                }
            }
        };
        match self.given.first() {
            None => Ok(request),
            Some((option, _)) => Err(format!("unknown option {option}")),
        }
    }

    fn soak(&mut self) -> Result<Request, String> {
        let minutes = self.value("--minutes")?.unwrap_or(10.0);
        match (0.1..=1440.0).contains(&minutes) {
            true => Ok(Request::Soak { minutes }),
            false => Err("soak takes --minutes N with N from 0.1 to 1440".to_owned()),
        }
    }

    fn origin(&mut self) -> Result<Settings, String> {
        let listen = SocketAddr::from(([127, 0, 0, 1], 9000));
        let service = self.value("--service-ms")?.map(Duration::from_millis);
        Ok(Settings {
            listen: self.value("--listen")?.unwrap_or(listen),
            places: self.value("--places")?.unwrap_or(PLACES),
            service: service.unwrap_or(SERVICE),
            core: self.value("--core")?,
        })
    }

    fn load(&mut self) -> Result<Manual, String> {
        let target = self.value("--target")?;
        Ok(Manual {
            target: target.ok_or("load needs --target ADDR")?,
            path: self.value("--path")?.unwrap_or_else(|| "/".to_owned()),
            tenant: self.value("--tenant")?.unwrap_or_default(),
            rate_per_s: self.value("--rate")?.unwrap_or(1_000.0),
            seconds: self.value("--seconds")?.unwrap_or(5.0),
        })
    }

    fn wanted(&mut self) -> Result<Wanted, String> {
        let words: Option<String> = self.value("--only")?;
        Ok(words.map_or_else(Wanted::default, |words| Wanted::parse(&words)))
    }

    fn effort(&mut self) -> Effort {
        match self.flag("--quick") {
            true => Effort::Quick,
            false => Effort::Full,
        }
    }

    fn flag(&mut self, name: &str) -> bool {
        let before = self.given.len();
        self.given.retain(|(given, _)| given != name);
        self.given.len() < before
    }

    fn value<V: FromStr>(&mut self, name: &str) -> Result<Option<V>, String> {
        let Some(at) = self.given.iter().position(|(given, _)| given == name) else {
            return Ok(None);
        };
        let (_, value) = self.given.remove(at);
        let value = value.ok_or_else(|| format!("{name} needs a value"))?;
        let parsed = value.parse().map(Some);
        parsed.map_err(|_| format!("{name} does not take `{value}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(line.split_whitespace().map(str::to_owned).collect())
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
        assert!(matches!(
            parse("--only s1,expert overload"),
            Ok(Request::Overload { effort: Effort::Full, wanted, .. }) if wanted == Wanted::parse("s1,expert")
        ));
    }

    #[test]
    fn an_origin_has_sizes() {
        let asked = parse("origin --places 8 --service-ms=40 --listen 127.0.0.1:7");
        let Ok(Request::Origin(settings)) = asked else {
            panic!("{asked:?}")
        };
        assert_eq!((settings.places, settings.service.as_millis()), (8, 40));
        assert_eq!(settings.listen.port(), 7);
    }

    #[test]
    fn a_mistake_is_named() {
        for (line, mistake) in [
            ("", "which benchmark?"),
            ("nonsense", "no benchmark is called nonsense"),
            ("queue --fast", "unknown option --fast"),
            ("queue queue", "one benchmark at a time"),
            ("origin --places", "--places needs a value"),
            ("origin --places x", "--places does not take `x`"),
            (
                "soak --minutes 0",
                "soak takes --minutes N with N from 0.1 to 1440",
            ),
        ] {
            assert_eq!(parse(line).unwrap_err(), mistake);
        }
    }
}
