//! What is wrong, where, what would be right: one mistake, and the report of all of them.

use std::fmt;
use std::path::PathBuf;

/// How many mistakes a report spells out; the rest is counted.
pub(crate) const SHOWN: usize = 100;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A configuration file; line and column count from 1, line 0 is the file as a whole.
    File {
        /// The file as it was named.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
    },
    /// An environment variable, by name.
    Env(String),
    /// A `--set` on the command line, by key.
    Flag(String),
    /// Nobody wrote it.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { path, line: 0, .. } => write!(f, "{}", path.display()),
            Origin::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Origin::Env(name) => write!(f, "environment {name}"),
            Origin::Flag(key) => write!(f, "--set {key}"),
            Origin::Default => f.write_str("defaults"),
        }
    }
}

/// A line of the source with the place to look at. Secrets in it are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line.
    pub text: String,
    /// Characters in front of the mark.
    pub mark: usize,
    /// Length of the mark.
    pub width: usize,
}

/// One thing wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where it was written.
    pub origin: Origin,
    /// The key it is about, dotted; empty when it is about the text as a whole.
    pub key: String,
    /// The value as written; never of a secret.
    pub given: Option<String>,
    /// What is wrong with it.
    pub what: String,
    /// What would be right; empty when there is no such list.
    pub allowed: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// The line in question.
    pub excerpt: Option<Excerpt>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        match (self.key.as_str(), &self.given) {
            ("", _) => {}
            (key, Some(given)) => write!(f, "{key} = {given}: ")?,
            (key, None) => write!(f, "{key}: ")?,
        }
        f.write_str(&self.what)?;
        if !self.allowed.is_empty() {
            write!(f, "; allowed: {}", self.allowed)?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, "; {remedy}")?;
        }
        if let (Some(excerpt), Origin::File { line, .. }) = (&self.excerpt, &self.origin) {
            write!(f, "\n{line:>6} | {}", excerpt.text)?;
            write!(
                f,
                "\n       | {:mark$}{:^^width$}",
                "",
                "",
                mark = excerpt.mark,
                width = excerpt.width
            )?;
        }
        Ok(())
    }
}

/// Everything wrong with a configuration, ordered by place: file from top to bottom, environment, flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes {
    pub(crate) shown: Vec<Mistake>,
    pub(crate) more: usize,
}

impl Mistakes {
    pub(crate) fn one(mistake: Mistake) -> Self {
        Self {
            shown: vec![mistake],
            more: 0,
        }
    }

    /// The mistakes that are spelled out, at most a hundred.
    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.shown.iter()
    }

    /// How many there are beyond those spelled out.
    pub fn more(&self) -> usize {
        self.more
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, mistake) in self.shown.iter().enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{mistake}")?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

#[cfg(test)]
mod tests;
