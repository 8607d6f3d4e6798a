//! A program to run: shown as one would type it, its output passed on live, line by line.

use crate::Outcome;
use crate::meter::Meter;
use crate::workspace;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[derive(Clone)]
pub(crate) struct Invocation {
    env: Vec<(String, String)>,
    program: String,
    args: Vec<String>,
}

impl Invocation {
    pub(crate) fn new(program: &str, args: &[&str]) -> Self {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Self {
            env: Vec::new(),
            program: program.to_owned(),
            args,
        }
    }

    pub(crate) fn cargo(args: &[&str]) -> Self {
        Self::new("cargo", args)
    }

    /// Cargo of the nightly toolchain, whatever the checkout pins.
    pub(crate) fn nightly(args: &[&str]) -> Self {
        let mut words = vec!["run", "nightly", "cargo"];
        words.extend_from_slice(args);
        Self::new("rustup", &words)
    }

    pub(crate) fn env(mut self, key: &str, value: impl Into<String>) -> Self {
        self.env.push((key.to_owned(), value.into()));
        self
    }

    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Runs from the root with no standard input; every line goes to stdout and then to `on_line`.
    pub(crate) fn stream(&self, mut on_line: impl FnMut(&str)) -> Outcome {
        let mut child = self
            .command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("`{}` could not be started: {error}", self.program))?;
        let meter = Meter::start();
        let output = child.stdout.take().expect("stdout was piped");
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(|error| format!("output of `{self}` broke off: {error}"))?;
            let line = String::from_utf8_lossy(&line);
            meter.print(&line);
            on_line(&line);
        }
        let status = child
            .wait()
            .map_err(|error| format!("`{self}` was lost: {error}"))?;
        drop(meter);
        if status.success() {
            Ok(())
        } else {
            Err(format!("failed ({status}): {self}"))
        }
    }

    pub(crate) fn run(&self) -> Outcome {
        self.stream(|_| ())
    }

    /// Runs silently; what it printed, whether it succeeded or not.
    pub(crate) fn output(&self) -> Result<String, String> {
        let output = self.command().stdin(Stdio::null()).output();
        let output =
            output.map_err(|error| format!("`{}` could not be started: {error}", self.program))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs silently; what it printed, or `None` when it is absent or fails.
    pub(crate) fn probe(&self) -> Option<String> {
        let output = self.command().stdin(Stdio::null()).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Becomes the program, so that signals and the exit code are its own. Returns only when that fails.
    pub(crate) fn become_it(&self) -> String {
        use std::os::unix::process::CommandExt;
        // Where the user stands, not the root: paths among the arguments are theirs.
        let error = Command::new(&self.program)
            .args(&self.args)
            .envs(self.pairs())
            .exec();
        format!("`{}` could not be started: {error}", self.program)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.pairs())
            .current_dir(workspace::root());
        command
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.env
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.env {
            write!(f, "{key}={} ", quoted(value))?;
        }
        f.write_str(&self.program)?;
        self.args
            .iter()
            .try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
