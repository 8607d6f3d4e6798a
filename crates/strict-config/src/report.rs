//! Where a type says which of its values, each fine alone, contradict one another.

use crate::toml_text::basic_string;

/// The contradictions a type found in itself. Keys are dotted paths below the current section.
#[derive(Debug, Default)]
pub struct Report {
    prefix: String,
    pub(crate) found: Vec<Contradiction>,
}

#[derive(Debug)]
pub(crate) struct Contradiction {
    pub(crate) keys: Vec<String>,
    pub(crate) what: String,
    pub(crate) remedy: String,
}

impl Report {
    /// States that the values of `keys` do not go together. It is placed at the first of them somebody
    /// wrote, and left out when one of them is already wrong by itself.
    pub fn contradiction(
        &mut self,
        keys: &[&str],
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let keys = keys.iter().map(|key| self.joined(key)).collect();
        self.found.push(Contradiction {
            keys,
            what: what.into(),
            remedy: remedy.into(),
        });
    }

    /// Runs `look` with keys counted from the section or map entry `name`.
    pub fn within(&mut self, name: &str, look: impl FnOnce(&mut Report)) {
        let inner = self.joined(&quoted(name));
        let outer = std::mem::replace(&mut self.prefix, inner);
        look(self);
        self.prefix = outer;
    }

    /// Runs `look` with keys counted from one item of the list `name`.
    pub fn within_item(&mut self, name: &str, index: usize, look: impl FnOnce(&mut Report)) {
        let inner = self.joined(&format!("{}[{index}]", quoted(name)));
        let outer = std::mem::replace(&mut self.prefix, inner);
        look(self);
        self.prefix = outer;
    }

    fn joined(&self, key: &str) -> String {
        join(&self.prefix, key)
    }
}

/// `path` extended by an already quoted `key`.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.into()
    } else {
        format!("{path}.{key}")
    }
}

/// A key as it is written in TOML: bare if it can be, quoted otherwise.
pub(crate) fn quoted(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) {
        name.into()
    } else {
        basic_string(name)
    }
}
