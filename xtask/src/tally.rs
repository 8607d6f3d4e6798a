//! Counts tests from the `test result:` lines of cargo's output.

/// Sums over every test binary of a step, and over steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    pub(crate) fn read(&mut self, line: &str) {
        let Some(counts) = line.trim_start().strip_prefix("test result: ") else {
            return;
        };
        self.passed += count(counts, "passed");
        self.failed += count(counts, "failed");
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// The number before `word` in `ok. 5 passed; 0 failed; 1 ignored; ...`.
fn count(counts: &str, word: &str) -> u64 {
    let words: Vec<&str> = counts
        .split([' ', ';', '.'])
        .filter(|part| !part.is_empty())
        .collect();
    let pair = words.windows(2).find(|pair| pair[1] == word);
    pair.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        tally
    }

    #[test]
    fn results_of_several_binaries_add_up() {
        let sum = tally(&[
            "running 5 tests",
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.04s",
            "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.00s",
        ]);
        assert_eq!(
            sum,
            Tally {
                passed: 17,
                failed: 3
            }
        );
    }

    #[test]
    fn what_a_test_prints_is_not_counted() {
        assert_eq!(
            tally(&[
                "saw: test result: ok. 5 passed; 0 failed",
                "9 passed; 9 failed"
            ]),
            Tally::default()
        );
    }

    #[test]
    fn a_line_cut_short_counts_what_it_has() {
        assert_eq!(
            tally(&["test result: ok. 4 passed;"]),
            Tally {
                passed: 4,
                failed: 0
            }
        );
    }
}
