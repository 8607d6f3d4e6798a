//! `bench [NAME] [--quick] [--json]`: measures, prints, and leaves the judgement to the reader.

use std::process::ExitCode;

use bench::request::{Measure, Request};
use bench::{
    catalogue, circumstances, compare, everything, html, page, peers, profile, soak, train,
};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    circumstances::asked(&words);
    let request = match Request::parse(words) {
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
    match request {
        Request::List => {
            let named = |name: &str, about: &str| println!("{name:<16} {about}");
            for entry in catalogue::all() {
                named(entry.name, entry.about);
            }
            named(page::NAME, page::ABOUT);
            Ok(())
        }
        Request::Measure(wanted) => measure(wanted),
        Request::Page => page::page(),
        Request::Train => train::train(),
        Request::Report => html::write().map(|path| println!("{}", path.display())),
        Request::Load(manual) => manual
            .run()
            .map(|said| print!("{said}"))
            .map_err(|error| format!("the load could not be sent: {error}")),
        Request::Origin(settings) => {
            bench::origin::serve(settings).map_err(|error| format!("the origin ended: {error}"))
        }
        Request::Doors(settings) => bench::round_trips::doors::serve(settings),
        Request::Soak { minutes } => match soak::soak(minutes) {
            true => Ok(()),
            false => Err("the node did not stay as it was".to_owned()),
        },
    }
}

fn measure(wanted: Measure) -> Result<(), String> {
    peers::only_against(wanted.against)?;
    wanted.before.map_or(Ok(()), peers::earlier_is)?;
    match wanted.entry {
        Some(entry) if wanted.profile => {
            let words: Vec<String> = std::env::args().skip(1).collect();
            return profile::profile(&entry, &words);
        }
        Some(entry) => (entry.run)(&wanted.ask)?,
        // Two files are compared as they are: who gives both and no name wants to know what moved.
        None if wanted.compare.is_some() => {}
        None => everything::everything()?,
    }
    let report = html::write()?;
    eprintln!("report: {}", report.display());
    wanted.compare.map_or(Ok(()), |old| compare::compare(&old))
}
