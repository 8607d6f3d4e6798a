//! `check` and `config`: looking at configs without running them.

use std::path::Path;

use serde_json::Value;
use strict_config::{
    Change, Comments, Loaded, Mistakes, Sources, load, read_file, restart_needed, schema, to_toml,
};

use crate::cli::{ConfigArgs, ConfigCommand};
use crate::config::{NodeText, load_config};
use crate::exit::Exit;
use crate::table::table;

/// Says whether a config is valid.
pub(crate) fn check(args: &ConfigArgs) -> Exit {
    judged(load_config(args), |_| {
        match &args.config {
            Some(path) => println!("{}: valid", path.display()),
            None => println!("no config given: the built-in demonstration is valid"),
        }
        Exit::Ok
    })
}

/// Prints, describes or compares configs.
pub(crate) fn config(command: &ConfigCommand) -> Exit {
    match command {
        ConfigCommand::Print { config, comments } => judged(load_config(config), |loaded| {
            let comments = if *comments {
                Comments::With
            } else {
                Comments::Without
            };
            print!("{}", to_toml::<NodeText>(loaded.document(), comments));
            Exit::Ok
        }),
        ConfigCommand::Schema => {
            println!("{:#}", schema::<NodeText>());
            Exit::Ok
        }
        ConfigCommand::Diff { old, new } => diff(old, new),
    }
}

fn diff(old: &Path, new: &Path) -> Exit {
    let both = from_file(old).and_then(|old| Ok((old, from_file(new)?)));
    judged(both, |(old, new)| {
        let changes = old.diff(&new);
        if changes.is_empty() {
            println!("no change");
            return Exit::Ok;
        }
        print!("{}", listed(&changes));
        let fixed = restart_needed(&changes);
        if !fixed.is_empty() {
            println!(
                "\na reload would be refused: {} cannot change while the node runs",
                fixed.join(", ")
            );
        }
        Exit::Ok
    })
}

/// A value with more characters than this stands on a line of its own.
const WIDEST_CELL: usize = 48;

/// A table of the changes; under it those that would make it too wide to read.
fn listed(changes: &[Change]) -> String {
    let shown = |value: &Option<Value>| {
        let text = value.as_ref().map(ToString::to_string);
        text.unwrap_or_else(|| "(none)".to_owned())
    };
    let (mut rows, mut wide) = (Vec::new(), String::new());
    for change in changes {
        let (old, new) = (shown(&change.old), shown(&change.new));
        let (key, takes) = (&change.key, change.reload);
        if old.len().max(new.len()) > WIDEST_CELL {
            wide += &format!("\n{key}, by {takes}\n  old  {old}\n  new  {new}\n");
        } else {
            rows.push(vec![key.clone(), old, new, takes.to_string()]);
        }
    }
    let head = ["key", "old", "new", "takes effect by"];
    match rows.is_empty() {
        true => wide.trim_start().to_owned(),
        false => table(&head, &rows) + &wide,
    }
}

fn from_file(path: &Path) -> Result<Loaded<NodeText>, Mistakes> {
    load(&Sources {
        file: Some(read_file(path)?),
        ..Sources::default()
    })
}

fn judged<T>(loaded: Result<T, Mistakes>, valid: impl FnOnce(T) -> Exit) -> Exit {
    match loaded {
        Ok(loaded) => valid(loaded),
        Err(mistakes) => {
            eprintln!("{mistakes}");
            Exit::Config
        }
    }
}

#[cfg(test)]
mod tests;
