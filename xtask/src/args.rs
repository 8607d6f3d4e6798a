//! The words after a command, taken one by one; what is left over is a mistake.

use crate::Outcome;

pub(crate) struct Args {
    words: Vec<String>,
}

impl Args {
    pub(crate) fn new(words: impl IntoIterator<Item = String>) -> Self {
        Self {
            words: words.into_iter().collect(),
        }
    }

    /// Takes `name` out and says whether it was there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() < before
    }

    /// Takes `name VALUE` or `name=VALUE` out.
    pub(crate) fn value(&mut self, name: &str) -> Result<Option<String>, String> {
        let joined = format!("{name}=");
        let Some(at) = self
            .words
            .iter()
            .position(|word| word == name || word.starts_with(&joined))
        else {
            return Ok(None);
        };
        let word = self.words.remove(at);
        if let Some(value) = word.strip_prefix(&joined) {
            return Ok(Some(value.to_owned()));
        }
        if at < self.words.len() {
            return Ok(Some(self.words.remove(at)));
        }
        Err(format!("{name} needs a value"))
    }

    /// Everything not taken yet, for a program that parses it itself.
    pub(crate) fn rest(self) -> Vec<String> {
        self.words
    }

    pub(crate) fn finish(self) -> Outcome {
        match self.words.as_slice() {
            [] => Ok(()),
            [word, ..] => Err(format!(
                "unexpected `{word}`; `cargo xtask` lists what each command takes"
            )),
        }
    }
}

#[cfg(test)]
mod tests;
