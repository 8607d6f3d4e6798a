//! `preview`: the map preview page, tested and bundled into the files that the node carries.

use crate::Outcome;
use crate::args::Args;
use crate::npm;
use crate::shell::Invocation;
use crate::workspace;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: Args) -> Outcome {
    args.finish()?;
    let modules = npm::modules()?;
    let page = |path: &str| format!("{}/{path}", npm::PAGE);
    Invocation::new("node", &["--test"])
        .args([page("tests/")])
        .run()?;
    Invocation::new("node", &[])
        .args([page("build.mjs"), modules.to_string_lossy().into_owned()])
        .run()
}

/// Whether the committed page was built from the sources beside it. Needs nothing but files.
pub(crate) fn check() -> Outcome {
    let page = workspace::root().join(npm::PAGE);
    let built_from = read(&page.join("dist/built-from.txt"))?;
    let now = hash_of(&page)?;
    match built_from.trim_ascii() == now.as_bytes() {
        true => Ok(()),
        false => Err("the preview page is older than its sources: cargo xtask preview".to_owned()),
    }
}

/// FNV-1a over the names and bytes of what the page is built from; the page's own build writes the same.
fn hash_of(page: &Path) -> Result<String, String> {
    let sources = fs::read_dir(page.join("src")).map_err(|error| error.to_string())?;
    let mut sources: Vec<PathBuf> = sources.flatten().map(|entry| entry.path()).collect();
    sources.sort();
    let first = ["build.mjs", "package-lock.json"].map(|name| page.join(name));
    let mut hash = Fnv::new();
    for path in first.into_iter().chain(sources) {
        let name = path.strip_prefix(page).unwrap_or(&path);
        hash.add(name.to_string_lossy().as_bytes());
        hash.add(b"\0");
        hash.add(&read(&path)?);
    }
    Ok(format!("{:016x}", hash.0))
}

struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::Fnv;

    #[test]
    fn the_hash_is_the_published_one() {
        let mut hash = Fnv::new();
        hash.add(b"foobar");
        assert_eq!(hash.0, 0x85944171f73967e8);
    }
}
