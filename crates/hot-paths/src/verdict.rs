//! Two sets of counts side by side: what grew by more than the tolerance fails, what shrank is said.

use std::collections::BTreeMap;

/// Instructions of a step, by the name of its path.
pub(crate) type Counts = BTreeMap<String, u64>;

#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) grown: usize,
}

/// A table's seed is drawn anew in each run and moves some counts a little: the tolerance is never nothing.
pub(crate) fn judge(kept: &Counts, now: &Counts, tolerance_percent: u64) -> Told {
    let mut told = Told::default();
    for (path, count) in now {
        let Some(before) = kept.get(path) else {
            told.say(path, *count, "is new and not kept yet");
            told.grown += 1;
            continue;
        };
        let change = *count as f64 / (*before).max(1) as f64 - 1.0;
        let percent = format!("{:+.1} % of {before}", change * 100.0);
        if *count * 100 > before * (100 + tolerance_percent) {
            told.grown += 1;
            told.say(path, *count, &format!("{percent}: GREW"));
        } else if *count * (100 + tolerance_percent) < before * 100 {
            told.say(
                path,
                *count,
                &format!("{percent}: shrank, the kept count can be lowered"),
            );
        } else {
            told.say(path, *count, &percent);
        }
    }
    for path in kept.keys().filter(|path| !now.contains_key(*path)) {
        told.text += &format!("{path:<24} is kept, but no path is called so any more\n");
        told.grown += 1;
    }
    told
}

impl Told {
    fn say(&mut self, path: &str, count: u64, words: &str) {
        self.text += &format!("{path:<24} {count:>8}  {words}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> Counts {
        let owned = pairs
            .iter()
            .map(|(path, count)| ((*path).to_owned(), *count));
        owned.collect()
    }

    #[test]
    fn growth_beyond_the_tolerance_fails_and_nothing_else_does() {
        let kept = counts(&[("a", 1_000), ("b", 1_000), ("c", 1_000)]);
        let told = judge(&kept, &counts(&[("a", 1_050), ("b", 1_051), ("c", 500)]), 5);
        assert_eq!(told.grown, 1, "{}", told.text);
        assert!(told.text.contains("+5.1 % of 1000: GREW"));
        assert!(told.text.contains("-50.0 % of 1000: shrank"));
    }

    #[test]
    fn a_path_nobody_kept_and_one_nobody_goes_fail() {
        let told = judge(&counts(&[("old", 1)]), &counts(&[("new", 1)]), 5);
        assert_eq!(told.grown, 2);
        assert!(told.text.contains("not kept yet") && told.text.contains("any more"));
    }

    #[test]
    fn what_is_kept_names_every_path() {
        let kept: Counts = serde_json::from_str(include_str!("../instructions.json")).unwrap();
        let paths: Vec<&str> = crate::paths::ALL.iter().map(|path| path.name).collect();
        assert_eq!(kept.keys().map(String::as_str).collect::<Vec<_>>(), paths);
    }
}
