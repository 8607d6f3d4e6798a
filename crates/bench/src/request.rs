//! What the command line asks for.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::catalogue::{self, Ask, Entry};
use crate::frame::Effort;
use crate::load::manual::Manual;
use crate::origin::{PLACES, SERVICE, Settings};
use crate::results::Wanted;
use crate::round_trips::doors;
use crate::train;

/// How to ask.
pub const USAGE: &str =
    "usage: bench [NAME] [--quick] [--json] [--only WORD,...] [--against PEER,...]
             [--profile] [--instructions] [--compare FILE]   no NAME: all, one after the other
       bench progress --before PROGRAM [--quick] [--json] [--only WORD,...]
       bench report | page | train
       bench --list
       bench soak [--minutes N]
       bench load --target ADDR [--path PATH] [--tenant NAME] [--rate N] [--seconds N]
       bench origin [--listen ADDR] [--places N] [--service-ms N] [--core N] [--more-addresses N]
       bench doors --http ADDR --frames ADDR";

/// What is to be done.
#[derive(Debug)]
#[expect(missing_docs, reason = "each variant is named after its command")]
pub enum Request {
    List,
    Soak { minutes: f64 },
    Origin(Settings),
    Doors(doors::Settings),
    Load(Manual),
    Report,
    Page,
    Train,
    Measure(Measure),
}

/// Benchmarks to run.
#[derive(Debug)]
pub struct Measure {
    /// One of them, or all.
    pub entry: Option<Entry>,
    /// How.
    pub ask: Ask,
    /// Whom to measure beside ours; everybody when empty.
    pub against: Vec<String>,
    /// Whether to look where the time goes.
    pub profile: bool,
    /// Earlier results to compare with.
    pub compare: Option<PathBuf>,
    /// An earlier build to measure beside this one.
    pub before: Option<PathBuf>,
}

impl Request {
    /// From the words after the program's name; else a sentence about what is wrong with them.
    pub fn parse(mut words: Vec<String>) -> Result<Self, String> {
        let options = Options::take(&mut words)?;
        match words.as_slice() {
            [] => options.applied(None),
            [list] if list == "--list" => Ok(Self::List),
            [name] => options.applied(Some(name)),
            _ => Err("one benchmark at a time, or none for all".to_owned()),
        }
    }
}

/// Everything that begins with two dashes.
struct Options {
    given: Vec<(String, Option<String>)>,
}

/// Options that take no value.
const FLAGS: [&str; 4] = ["--quick", "--json", "--instructions", "--profile"];

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

    fn applied(mut self, name: Option<&str>) -> Result<Request, String> {
        let request = match name {
            Some("soak") => self.soak()?,
            Some("origin") => Request::Origin(self.origin()?),
            Some("doors") => Request::Doors(self.doors()?),
            Some("load") => Request::Load(self.load()?),
            Some("page") => Request::Page,
            Some("report") => Request::Report,
            Some(train::NAME) => Request::Train,
            name => Request::Measure(self.measure(name)?),
        };
        match self.given.first() {
            None => Ok(request),
            Some((option, _)) => Err(format!("unknown option {option}")),
        }
    }

    fn measure(&mut self, name: Option<&str>) -> Result<Measure, String> {
        let known = |name: &str| {
            let entry = catalogue::find(name);
            entry.ok_or_else(|| format!("no benchmark is called {name}"))
        };
        let entry = name.map(known).transpose()?;
        let against: Option<String> = self.value("--against")?;
        let against = against.unwrap_or_default().to_lowercase();
        let against = against.split(',').filter(|word| !word.is_empty());
        Ok(Measure {
            entry,
            ask: Ask {
                name: entry.map_or("all", |entry| entry.name),
                effort: self.effort(),
                json: self.flag("--json"),
                wanted: self.wanted()?,
                instructions: self.flag("--instructions"),
            },
            against: against.map(str::to_owned).collect(),
            profile: self.flag("--profile"),
            compare: self.value("--compare")?,
            before: self.value("--before")?,
        })
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
            more_addresses: self.value("--more-addresses")?.unwrap_or(0),
        })
    }

    fn doors(&mut self) -> Result<doors::Settings, String> {
        let (http, frames) = (self.value("--http")?, self.value("--frames")?);
        let both = http.zip(frames);
        let (http, frames) = both.ok_or("doors needs --http ADDR and --frames ADDR")?;
        Ok(doors::Settings { http, frames })
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
        for entry in catalogue::all() {
            let asked = parse(&format!("{} --quick --json", entry.name));
            let Ok(Request::Measure(measure)) = asked else {
                panic!("{asked:?}")
            };
            let ask = measure.ask;
            assert_eq!(
                (ask.name, ask.effort, ask.json),
                (entry.name, Effort::Quick, true)
            );
        }
        assert!(matches!(parse("--list"), Ok(Request::List)));
        let Ok(Request::Measure(some)) = parse("--only s1,expert overload --against NGINX") else {
            panic!("it names a benchmark")
        };
        assert_eq!(some.ask.wanted, Wanted::parse("s1,expert"));
        assert_eq!(some.against, ["nginx"]);
    }

    #[test]
    fn without_a_name_all_are_meant() {
        let Ok(Request::Measure(all)) = parse("--quick --profile --compare old.json") else {
            panic!("no name is needed")
        };
        assert!(all.entry.is_none() && all.profile);
        assert_eq!(all.compare, Some(PathBuf::from("old.json")));
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
            ("nonsense", "no benchmark is called nonsense"),
            ("queue --fast", "unknown option --fast"),
            ("queue queue", "one benchmark at a time, or none for all"),
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
