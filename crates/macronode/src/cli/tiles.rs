//! `tiles`: packs from the command line, as the config of a node.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{BuiltIn, ConfigArgs, RunArgs};

/// Which packs to serve.
#[derive(Args, Debug)]
pub(crate) struct TilesArgs {
    /// PMTiles or MBTiles files, or directories of them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where to listen.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8640")]
    listen: SocketAddr,
    /// Set one key, over environment and these; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

impl TilesArgs {
    /// The same as `run` with a config of a few lines.
    pub(crate) fn run(&self) -> Result<RunArgs, String> {
        let (mut packs, mut directories) = (Vec::new(), Vec::new());
        let mut names = BTreeSet::new();
        for file in &self.files {
            let path = std::path::absolute(file);
            let path = path.map_err(|error| format!("{}: {error}", file.display()))?;
            let about = path.metadata();
            let about = about.map_err(|error| format!("{}: {error}", file.display()))?;
            let text = path.to_str();
            let text = quoted(text.ok_or_else(|| format!("{}: not UTF-8", file.display()))?);
            match about.is_dir() {
                true => directories.push(text),
                false => {
                    let name = quoted(&free_name(&path, &mut names));
                    packs.push(format!("{{ name = {name}, path = {text} }}"));
                }
            }
        }
        let mut sets = vec![
            format!("edge.listen=[\"{}\"]", self.listen),
            format!("edge.packs=[{}]", packs.join(", ")),
            format!("edge.pack_dirs=[{}]", directories.join(", ")),
        ];
        sets.extend(self.sets.iter().cloned());
        let config = ConfigArgs {
            config: None,
            sets,
            built_in: BuiltIn::Tiles,
        };
        Ok(RunArgs {
            config,
            runtime: None,
        })
    }
}

/// A text between quotes: what JSON escapes, TOML reads in the same way.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The name of a file without its ending, of what a name may hold, and not one that is taken.
fn free_name(path: &Path, names: &mut BTreeSet<String>) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
        true => c,
        false => '-',
    };
    let name: String = stem.chars().map(plain).take(120).collect();
    let name = match name.trim_start_matches('.') {
        "" => "pack",
        name => name,
    };
    let tries = (2_u64..).map(|number| format!("{name}-{number}"));
    let mut tries = std::iter::once(name.to_owned()).chain(tries);
    let free = tries.find(|name| !names.contains(name));
    let free = free.unwrap_or_default();
    names.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_config;

    // req: ED-01
    #[test]
    fn packs_of_the_command_line_are_a_config_without_mistakes() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for name in ["world.pmtiles", "world.mbtiles", "a \"b\" \\c.pmtiles"] {
            std::fs::write(at(name), b"x").unwrap();
        }
        std::fs::create_dir(at("more")).unwrap();
        let args = TilesArgs {
            files: [
                "world.pmtiles",
                "world.mbtiles",
                "a \"b\" \\c.pmtiles",
                "more",
            ]
            .map(at)
            .to_vec(),
            listen: "127.0.0.1:0".parse().unwrap(),
            sets: Vec::new(),
        };
        let loaded = load_config(&args.run().unwrap().config()).unwrap();
        let edge = loaded.text.edge.unwrap();
        let names: Vec<_> = edge.packs.iter().map(|pack| pack.name.as_str()).collect();
        assert_eq!(names, ["world", "world-2", "a--b---c"]);
        assert_eq!(Path::new(&edge.packs[2].path), at("a \"b\" \\c.pmtiles"));
        assert_eq!(edge.pack_dirs.len(), 1);
        assert_eq!(edge.limits.rps, 0);
    }

    #[test]
    fn a_file_that_is_not_there_is_said_before_anything_starts() {
        let args = TilesArgs {
            files: vec!["/nowhere/at/all.pmtiles".into()],
            listen: "127.0.0.1:0".parse().unwrap(),
            sets: Vec::new(),
        };
        assert!(args.run().unwrap_err().contains("/nowhere/at/all.pmtiles"));
    }
}
