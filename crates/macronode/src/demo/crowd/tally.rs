//! What came of a tenant's requests, in a second.

use std::collections::BTreeMap;
use std::time::Duration;

/// What came of a tenant's requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// How long the answers of those that were served took.
    served: Vec<Duration>,
    refused: BTreeMap<String, u64>,
    failed: u64,
    /// Not sent, as too many were under way.
    held_back: u64,
}

/// How a request ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Served(Duration),
    /// By the gateway, for this reason.
    Refused(String),
    Failed,
}

impl Tally {
    pub(super) fn note(&mut self, end: End) {
        match end {
            End::Served(took) => self.served.push(took),
            End::Refused(reason) => *self.refused.entry(reason).or_default() += 1,
            End::Failed => self.failed += 1,
        }
    }

    pub(super) fn hold_back(&mut self) {
        self.held_back += 1;
    }

    pub(super) fn served(&self) -> u64 {
        self.served.len() as u64
    }

    pub(super) fn asked(&self) -> u64 {
        self.served() + self.refused.values().sum::<u64>() + self.failed + self.held_back
    }

    /// One line for people: what it asked for, what it got, why not more, and what was due.
    pub(super) fn words(&self, served_in_all: u64, due: f64) -> String {
        let all = served_in_all.max(1) as f64;
        let percent = |part: f64| format!("{:.0} %", part / all * 100.0);
        let mut words = format!(
            "{} of {} served, share {} (due {})",
            self.served(),
            self.asked(),
            percent(self.served() as f64),
            percent(due),
        );
        if let (Some(half), Some(most)) = (self.quantile(0.5), self.quantile(0.99)) {
            words += &format!(", p50 {} ms, p99 {} ms", half.as_millis(), most.as_millis());
        }
        let refused = self
            .refused
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"));
        let others = [(self.failed, "failed"), (self.held_back, "held back")];
        let others = others.iter().filter(|(count, _)| *count > 0);
        let others = others.map(|(count, what)| format!("{count} {what}"));
        for loss in refused.chain(others) {
            words += ", ";
            words += &loss;
        }
        words
    }

    fn quantile(&self, part: f64) -> Option<Duration> {
        let mut times = self.served.clone();
        times.sort_unstable();
        let last = times.len().checked_sub(1)?;
        Some(times[(last as f64 * part).ceil() as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_what_was_asked_for_what_came_of_it_and_why() {
        let mut tally = Tally::default();
        for ms in 1..=50 {
            tally.note(End::Served(Duration::from_millis(ms)));
        }
        for _ in 0..8 {
            tally.note(End::Refused("share-full".to_owned()));
        }
        tally.note(End::Failed);
        tally.hold_back();
        assert_eq!(tally.asked(), 60);
        let words = "50 of 60 served, share 62 % (due 66 %), p50 26 ms, p99 50 ms, 8 share-full, 1 failed, 1 held back";
        assert_eq!(tally.words(80, 52.5), words);
        let nothing = Tally::default().words(0, 0.0);
        assert_eq!(nothing, "0 of 0 served, share 0 % (due 0 %)");
    }
}
