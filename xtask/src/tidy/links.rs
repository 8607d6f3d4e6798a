//! Rules for Markdown: a link to a file of the repository leads to a file.

use super::{Fault, fault};
use crate::workspace::Source;

pub(super) fn faults(source: &Source, exists: &dyn Fn(&str) -> bool) -> Vec<Fault> {
    let mut fenced = false;
    let mut faults = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let broken = targets(line)
            .into_iter()
            .filter(|target| leads_nowhere(&source.path, target, exists));
        faults.extend(broken.map(|target| {
            fault(
                source,
                at + 1,
                format!("the link to {target} leads nowhere"),
            )
        }));
    }
    faults
}

/// What the links of a line point at, outside of `code`.
fn targets(line: &str) -> Vec<String> {
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let inline = prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    let definition = definition(&prose).into_iter();
    inline.chain(definition).map(str::to_owned).collect()
}

/// The target of `[label]: target`.
fn definition(prose: &str) -> Option<&str> {
    let (_, rest) = prose.strip_prefix('[')?.split_once("]: ")?;
    rest.split(' ').next()
}

fn leads_nowhere(from: &str, target: &str, exists: &dyn Fn(&str) -> bool) -> bool {
    let file = target.split('#').next().unwrap_or_default();
    let elsewhere = target.contains("://") || target.starts_with("mailto:");
    if elsewhere || file.is_empty() {
        return false;
    }
    resolved(from, file).is_none_or(|path| !exists(&path))
}

/// `target` as seen from the directory of `from`; `None` when it climbs out of the repository.
fn resolved(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        return None;
    }
    for part in target.split('/') {
        match part {
            "" | "." => (),
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
