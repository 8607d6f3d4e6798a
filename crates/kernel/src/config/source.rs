//! Where a config comes from.

use std::path::{Path, PathBuf};
use std::time::Duration;

use strict_config::{Mistakes, SourceFile, read_file};

/// Where the config comes from, now and at each reload.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file that is watched.
    File(PathBuf),
    /// A text that is part of the program, under this name.
    BuiltIn {
        /// What mistakes in it are reported under.
        name: &'static str,
        /// The text.
        text: &'static str,
    },
    /// A text that whoever simulates the node may replace.
    #[cfg(feature = "simulation")]
    Told(std::sync::Arc<arc_swap::ArcSwap<String>>),
}

impl Source {
    /// Reads it.
    pub fn read(&self) -> Result<SourceFile, Mistakes> {
        match self {
            Source::File(path) => read_file(path),
            Source::BuiltIn { name, text } => Ok(SourceFile::new(*name, *text)),
            #[cfg(feature = "simulation")]
            Source::Told(text) => Ok(SourceFile::new("(told)", String::clone(&text.load()))),
        }
    }

    pub(super) fn read_settled(&self) -> Result<SourceFile, Mistakes> {
        match self {
            Source::File(path) => read_settled(path),
            _ => self.read(),
        }
    }

    pub(super) fn file(&self) -> Option<&PathBuf> {
        match self {
            Source::File(path) => Some(path),
            _ => None,
        }
    }
}

/// Reads a file twice until both agree, so that a writer caught in the act is waited for, a little.
fn read_settled(path: &Path) -> Result<SourceFile, Mistakes> {
    let mut before = read_file(path)?;
    for _ in 0..5 {
        #[expect(
            clippy::disallowed_methods,
            reason = "runs on a blocking thread, where sleeping is allowed"
        )]
        std::thread::sleep(Duration::from_millis(5));
        let now = read_file(path)?;
        if now.text() == before.text() {
            return Ok(now);
        }
        before = now;
    }
    Ok(before)
}
