//! Which names become label values: those of the config in force, up to a bound. The names beyond it share one.

use hashbrown::HashMap;

/// What the names beyond the bound are called.
pub(crate) const OTHER: &str = "other";

/// How many names of a kind become label values. Times take three times the series of all else that is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// With counts of their own.
    pub(crate) counted: usize,
    /// With times of their own besides.
    pub(crate) timed: usize,
}

/// Routes, and upstreams: with all else a gateway counts these are no more than a thousand series.
pub(crate) const ROUTES: Bound = Bound {
    counted: 32,
    timed: 14,
};
/// As [`ROUTES`].
pub(crate) const UPSTREAMS: Bound = Bound {
    counted: 16,
    timed: 8,
};

/// A name as label values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// Of what is counted.
    pub(crate) counts: &'static str,
    /// Of what is timed.
    pub(crate) times: &'static str,
}

impl Label {
    /// What all names beyond the bound have.
    pub(crate) const SHARED: Self = Self {
        counts: OTHER,
        times: OTHER,
    };

    pub(crate) fn is_shared(self) -> bool {
        self.counts == OTHER
    }
}

/// The labels of a config's names, in their order. Who had one keeps it, so that the rest is left to the first of the
/// others; `intern` makes a label value of a name, if it can.
pub(crate) fn assign(
    names: &[&str],
    bound: Bound,
    had: impl Fn(&str) -> Option<Label>,
    mut intern: impl FnMut(&str) -> Option<&'static str>,
) -> Vec<Label> {
    let mut given: HashMap<&str, Label> = HashMap::new();
    for name in names {
        if let Some(label) = had(name).filter(|label| !label.is_shared()) {
            given.insert(name, label);
        }
    }
    let times = given.values().filter(|label| label.times != OTHER);
    let mut timed = times.count();
    for name in names {
        let known = given.get(name).copied().unwrap_or(Label::SHARED);
        let counts = match known.is_shared() && given.len() < bound.counted {
            true => intern(name).unwrap_or(OTHER),
            false => known.counts,
        };
        if counts == OTHER {
            continue;
        }
        let times = match known.times {
            OTHER if timed < bound.timed => {
                timed += 1;
                counts
            }
            times => times,
        };
        given.insert(name, Label { counts, times });
    }
    let label = |name: &&str| given.get(*name).copied();
    names
        .iter()
        .map(|name| label(name).unwrap_or(Label::SHARED))
        .collect()
}

#[cfg(test)]
mod tests;
