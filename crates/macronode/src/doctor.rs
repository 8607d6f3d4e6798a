//! `doctor`: is this machine fit for the node, and how to mend what is not.

use std::path::Path;

use strict_config::{Loaded, Mistakes};

use crate::cli::ConfigArgs;
use crate::config::{NodeText, load_config};
use crate::exit::Exit;
use crate::table::table;
use finding::{Finding, Verdict};

mod cgroup;
mod clock;
mod features;
mod finding;
pub(crate) mod holder;
mod limits;
mod permissions;
mod ports;

/// Checks the machine against the config and prints what was found.
pub(crate) fn doctor(args: &ConfigArgs) -> Exit {
    let findings = examine(args);
    print!("{}", page(&findings));
    match count(&findings, Verdict::Fault) {
        0 => Exit::Ok,
        _ => Exit::Unhealthy,
    }
}

fn examine(args: &ConfigArgs) -> Vec<Finding> {
    let loaded = load_config(args);
    let mut findings = vec![config(args, &loaded)];
    let defaults = NodeText::default();
    let text = loaded.as_ref().map_or(&defaults, |loaded| &loaded.text);
    findings.extend(ports::findings(text));
    findings.extend(limits::findings(text, args.config.as_deref()));
    findings.extend(cgroup::findings(text.runtime.kind));
    findings.extend(clock::findings());
    findings.extend(features::findings(text));
    findings.extend(permissions::findings(
        args.config.as_deref(),
        loaded.as_ref().ok(),
    ));
    findings
}

fn config(args: &ConfigArgs, loaded: &Result<Loaded<NodeText>, Mistakes>) -> Finding {
    let name = match &args.config {
        Some(path) => path.display().to_string(),
        None => "none given: the built-in demonstration".to_owned(),
    };
    match loaded {
        Ok(_) => Finding::fine("config", format!("{name}, valid")),
        Err(mistakes) => {
            let count = counted(mistakes.iter().count() + mistakes.more(), "mistake");
            let said = format!("{name}, {count}; what follows is checked with the defaults");
            Finding::fault("config", said, mistakes.to_string())
        }
    }
}

/// One row a finding, what to do about it beneath, the sum at the end.
fn page(findings: &[Finding]) -> String {
    let row = |finding: &Finding| {
        let word = format!("{:<5}", finding.verdict.word());
        vec![word, finding.what.to_owned(), finding.said.clone()]
    };
    let rows: Vec<_> = findings.iter().map(row).collect();
    let table = table(&["", "check", "found"], &rows);
    let mut lines = table.lines();
    let mut text = format!("{}\n", lines.next().unwrap_or_default());
    for (line, finding) in lines.zip(findings) {
        text.push_str(line);
        text.push('\n');
        for (nth, line) in finding
            .remedy
            .iter()
            .flat_map(|text| text.lines())
            .enumerate()
        {
            let lead = if nth == 0 { "remedy:" } else { "" };
            text.push_str(&format!("       {lead:<7} {line}\n"));
        }
    }
    let faults = counted(count(findings, Verdict::Fault), "fault");
    let warnings = counted(count(findings, Verdict::Warn), "warning");
    text.push_str(&format!("\n{faults}, {warnings}\n"));
    text
}

fn count(findings: &[Finding], verdict: Verdict) -> usize {
    findings
        .iter()
        .filter(|finding| finding.verdict == verdict)
        .count()
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A file of one line, such as those of /proc and /sys; none where it cannot be read.
fn read_line(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// Where the config lies; there the node looks for changes, since files are replaced rather than written.
fn directory_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests;
