//! `docs`: the generated pages, rewritten from the code or compared with it.

use crate::Outcome;
use crate::args::Args;
use crate::shell::Invocation;
use crate::workspace;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// What is made: the command of the node that writes it, and where it is committed.
const MADE: [(&str, &str); 2] = [
    ("reference", "docs/reference"),
    ("monitoring", "deploy/monitoring"),
];

type Pages = BTreeMap<String, Vec<u8>>;

pub(crate) fn run(mut args: Args) -> Outcome {
    let check = args.flag("--check");
    args.finish()?;
    MADE.iter()
        .try_for_each(|(command, committed)| renew(command, committed, check))
}

fn renew(command: &str, place: &str, check: bool) -> Outcome {
    let wanted = generated(command)?;
    let committed = workspace::root().join(place);
    let stale = stale(
        &pages(&committed).map_err(|error| unreadable(&committed, &error))?,
        &wanted,
    );
    if check && !stale.is_empty() {
        return Err(format!(
            "stale in {place}: {}; `cargo xtask docs` rewrites them",
            stale.join(", ")
        ));
    }
    for name in &stale {
        rewrite(&committed.join(name), wanted.get(name))
            .map_err(|error| unreadable(&committed, &error))?;
    }
    println!("{place}: {} files, {} rewritten", wanted.len(), stale.len());
    Ok(())
}

/// What the node says of itself now, through a directory of its own so that a removed page is noticed too.
fn generated(command: &str) -> Result<Pages, String> {
    let fresh = workspace::target().join(command);
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(|error| unreadable(&fresh, &error))?;
    }
    fs::create_dir_all(&fresh).map_err(|error| unreadable(&fresh, &error))?;
    let write = Invocation::cargo(&["run", "--quiet", "--package", "macronode", "--", command]);
    write.args([fresh.to_string_lossy().into_owned()]).run()?;
    let pages = pages(&fresh).map_err(|error| unreadable(&fresh, &error))?;
    if pages.is_empty() {
        Err(format!("`macronode {command}` wrote nothing"))
    } else {
        Ok(pages)
    }
}

fn pages(directory: &Path) -> io::Result<Pages> {
    let mut pages = Pages::new();
    if !directory.exists() {
        return Ok(pages);
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        pages.insert(
            entry.file_name().to_string_lossy().into_owned(),
            fs::read(entry.path())?,
        );
    }
    Ok(pages)
}

/// The names that differ, are missing or should not be there.
fn stale(committed: &Pages, wanted: &Pages) -> Vec<String> {
    let names = committed
        .keys()
        .chain(wanted.keys().filter(|name| !committed.contains_key(*name)));
    names
        .filter(|name| committed.get(*name) != wanted.get(*name))
        .cloned()
        .collect()
}

fn rewrite(path: &Path, page: Option<&Vec<u8>>) -> io::Result<()> {
    let Some(page) = page else {
        return fs::remove_file(path);
    };
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, page)
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::{Pages, stale};

    fn pages(entries: &[(&str, &str)]) -> Pages {
        entries
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn a_page_is_stale_when_changed_missing_or_left_over() {
        let committed = pages(&[
            ("config.md", "old"),
            ("gone.md", "x"),
            ("queues.md", "same"),
        ]);
        let wanted = pages(&[
            ("config.md", "new"),
            ("queues.md", "same"),
            ("tasks.md", "t"),
        ]);
        assert_eq!(
            stale(&committed, &wanted),
            ["config.md", "gone.md", "tasks.md"]
        );
        assert!(stale(&wanted, &wanted).is_empty());
    }
}
