//! What every benchmark leaves behind: one file of one form, whatever was measured.

use serde::{Deserialize, Serialize};

use crate::results::rounded;

/// The results of one benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sheet {
    /// The benchmark's.
    pub name: String,
    /// One sentence on what it measures.
    pub about: String,
    /// The day of the last run.
    pub date: String,
    /// What to type to measure it again.
    pub command: String,
    /// Its class, not its name.
    pub machine: String,
    /// Of everything that was measured.
    pub versions: Vec<String>,
    /// Who should have been measured and was not, each with the reason.
    pub absent: Vec<String>,
    /// What was measured.
    pub rows: Vec<Row>,
    /// What is drawn of it.
    pub plots: Vec<Plot>,
    /// What the benchmark itself wants to read again, in a form of its own.
    pub details: Vec<serde_json::Value>,
}

/// One number, beside those of others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// What was measured.
    pub metric: String,
    /// On whom.
    pub subject: String,
    /// The median of the rounds.
    pub value: f64,
    /// Of the value.
    pub unit: String,
    /// Against whom.
    pub beside: Vec<Beside>,
    /// How far the rounds lie apart: (p90 − p10) ÷ median.
    pub spread: Option<f64>,
    /// How often it was measured.
    pub rounds: usize,
    /// What it should be.
    pub goal: Option<Goal>,
    /// What a reader has to know.
    pub note: Option<String>,
}

/// A comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// With whom.
    pub peer: String,
    /// Ours to theirs, the median of the rounds' own ratios.
    pub ratio: f64,
}

/// A promise about a number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// What is promised.
    pub words: String,
    /// Whether it is kept.
    pub met: bool,
}

/// A picture, as data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// A sentence below the title.
    pub note: String,
    /// Along.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// Whose values.
    pub lines: Vec<Series>,
    /// Instants along the first axis, each with its word.
    pub marks: Vec<(f64, String)>,
}

/// How values lie.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What, in which unit.
    pub label: String,
    /// Whether equal steps are equal factors.
    pub log: bool,
}

/// One line of a picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Whose.
    pub name: String,
    /// In order.
    pub points: Vec<(f64, f64)>,
}

impl Beside {
    /// The peer without the figure that may stand behind its name.
    pub fn name(&self) -> &str {
        self.peer.split(" of ").next().unwrap_or(&self.peer)
    }
}

impl Row {
    /// A number without company.
    pub fn new(metric: &str, subject: &str, value: f64, unit: &str) -> Self {
        Self {
            metric: metric.to_owned(),
            subject: subject.to_owned(),
            value: finite(value),
            unit: unit.to_owned(),
            rounds: 1,
            ..Self::default()
        }
    }

    /// Adds a comparison, where there is one.
    #[must_use]
    pub fn beside(mut self, peer: &str, ratio: Option<f64>) -> Self {
        let ratio = ratio.filter(|ratio| ratio.is_finite()).map(rounded);
        self.beside.extend(ratio.map(|ratio| Beside {
            peer: peer.to_owned(),
            ratio,
        }));
        self
    }

    /// How often, and how far apart.
    #[must_use]
    pub fn over(mut self, rounds: usize, spread: Option<f64>) -> Self {
        self.rounds = rounds;
        self.spread = spread.filter(|spread| spread.is_finite()).map(rounded);
        self
    }

    /// The goal that no comparison exceeds the ratio; none where nobody was there to compare with, and none where no
    /// ratio could miss it.
    #[must_use]
    pub fn at_most(mut self, ratio: f64) -> Self {
        if self.beside.is_empty() || ratio.is_infinite() {
            return self;
        }
        let peers: Vec<&str> = self.beside.iter().map(Beside::name).collect();
        let met = self.beside.iter().all(|peer| peer.ratio <= ratio);
        let words = format!("at most {ratio} × {}", peers.join(", "));
        self.goal = Some(Goal { words, met });
        self
    }

    /// A goal in words.
    #[must_use]
    pub fn promised(mut self, words: &str, met: bool) -> Self {
        self.goal = Some(Goal {
            words: words.to_owned(),
            met,
        });
        self
    }

    /// Adds what a reader has to know.
    #[must_use]
    pub fn noted(mut self, note: impl Into<String>) -> Self {
        let note = note.into();
        self.note = (!note.is_empty()).then_some(note);
        self
    }

    /// A measurement in which something went wrong keeps no promise.
    #[must_use]
    pub fn failed(mut self, failures: u64) -> Self {
        if failures > 0 {
            self.note = Some(format!("INVALID: {failures} failures"));
            if let Some(goal) = &mut self.goal {
                goal.met = false;
            }
        }
        self
    }

    /// The value with its unit, in as many digits as a reader can use.
    pub fn figure(&self) -> String {
        let digits = match self.value.abs() {
            size if size >= 1000.0 || size.fract() == 0.0 => 0,
            size if size >= 100.0 => 1,
            _ => 2,
        };
        format!("{:.digits$} {}", self.value, self.unit)
    }

    /// Each comparison in words.
    pub fn ratios(&self) -> Vec<String> {
        let told = |beside: &Beside| format!("{:.2} × {}", beside.ratio, beside.peer);
        self.beside.iter().map(told).collect()
    }

    /// How far the rounds lie from the middle, in words.
    pub fn wavers(&self) -> Option<String> {
        self.spread
            .map(|spread| format!("± {:.0} %", spread * 50.0))
    }

    /// Which number it is, for who compares two runs.
    pub fn key(&self) -> String {
        format!("{}/{}", self.metric, self.subject)
    }
}

impl Axis {
    /// Equal steps.
    pub fn linear(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            log: false,
        }
    }

    /// Equal factors.
    pub fn log(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            log: true,
        }
    }
}

impl Sheet {
    /// Puts new rows and pictures in the place of those with their names, and keeps the others.
    pub fn take(&mut self, rows: Vec<Row>, plots: Vec<Plot>) {
        for row in rows {
            match self.rows.iter_mut().find(|old| old.key() == row.key()) {
                Some(old) => *old = row,
                None => self.rows.push(row),
            }
        }
        for plot in plots {
            match self.plots.iter_mut().find(|old| old.title == plot.title) {
                Some(old) => *old = plot,
                None => self.plots.push(plot),
            }
        }
    }
}

/// Rows of one metric beside each other, in the order in which metrics came first.
pub fn by_metric(rows: Vec<Row>) -> Vec<Row> {
    let mut groups: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        match groups
            .iter_mut()
            .find(|group| group[0].metric == row.metric)
        {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups.into_iter().flatten().collect()
}

/// JSON has no word for what is not a number.
fn finite(number: f64) -> f64 {
    match number.is_finite() {
        true => rounded(number),
        false => 0.0,
    }
}

#[cfg(test)]
mod tests;
