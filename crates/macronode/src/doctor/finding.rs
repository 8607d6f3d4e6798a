//! What one check found.

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As it should be.
    Fine,
    /// Nothing to mend: worth knowing, or not to be known from here.
    Note,
    /// The node runs, but worse than it could.
    Warn,
    /// The node will not start, will fail under load, or can be taken over.
    Fault,
}

impl Verdict {
    /// The word in the first column.
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Fine => "ok",
            Verdict::Note => "note",
            Verdict::Warn => "warn",
            Verdict::Fault => "FAULT",
        }
    }
}

/// One row of the report. Names of files and processes are other people's text: no character of them
/// reaches the terminal as a command.
#[derive(Debug)]
pub(super) struct Finding {
    /// What was looked at.
    pub(super) what: &'static str,
    /// How bad it is.
    pub(super) verdict: Verdict,
    /// What was found, in one line.
    pub(super) said: String,
    /// How to mend it; whatever is worth a warning has one.
    pub(super) remedy: Option<String>,
}

impl Finding {
    pub(super) fn fine(what: &'static str, said: impl Into<String>) -> Self {
        Self::new(what, Verdict::Fine, said.into(), None)
    }

    pub(super) fn note(what: &'static str, said: impl Into<String>) -> Self {
        Self::new(what, Verdict::Note, said.into(), None)
    }

    pub(super) fn warn(
        what: &'static str,
        said: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(what, Verdict::Warn, said.into(), Some(remedy.into()))
    }

    pub(super) fn fault(
        what: &'static str,
        said: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(what, Verdict::Fault, said.into(), Some(remedy.into()))
    }

    fn new(what: &'static str, verdict: Verdict, said: String, remedy: Option<String>) -> Self {
        let said = harmless(&said, |_| false);
        let remedy = remedy.map(|text| harmless(&text, |c| c == '\n'));
        Self {
            what,
            verdict,
            said,
            remedy,
        }
    }
}

fn harmless(text: &str, keep: impl Fn(char) -> bool) -> String {
    let plain = |c: char| if c.is_control() && !keep(c) { '?' } else { c };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: ND-01
    #[test]
    fn names_of_others_cannot_steer_the_terminal() {
        let found = Finding::warn("x", "a\u{1b}[2J\nb", "c\u{7}\nd");
        assert_eq!(found.said, "a?[2J?b");
        assert_eq!(found.remedy.as_deref(), Some("c?\nd"));
    }
}
