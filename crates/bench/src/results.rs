//! What was measured, kept under `target/bench` so that one row can be measured again by itself.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Below the current directory.
const FOLDER: &str = "target/bench";

/// A result that takes the place of an earlier one of the same key.
pub trait Keyed {
    /// Which result it is.
    fn key(&self) -> String;
}

/// Which results are asked for: all, or those with one of the words in one of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted(Vec<String>);

impl Wanted {
    /// From words with commas between; a `+` joins words that must all be there.
    pub fn parse(words: &str) -> Self {
        let words = words.split(',').filter(|word| !word.is_empty());
        Self(words.map(str::to_lowercase).collect())
    }

    /// Whether a result with these names is asked for.
    pub fn has(&self, names: &[&str]) -> bool {
        let names: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let named = |word: &str| names.iter().any(|name| is_part(word, name));
        self.0.is_empty() || self.0.iter().any(|words| words.split('+').all(named))
    }
}

/// Whether the word is in the name; S1 is not in S10.
fn is_part(word: &str, name: &str) -> bool {
    name.match_indices(word).any(|(at, _)| {
        let next = name[at + word.len()..].chars().next();
        !(word.ends_with(|last: char| last.is_ascii_digit())
            && next.is_some_and(|next| next.is_ascii_digit()))
    })
}

/// Puts new rows among those kept, in the order they came first; gives all.
pub fn keep<R>(name: &str, new: Vec<R>) -> Result<Vec<R>, String>
where
    R: Keyed + Serialize + DeserializeOwned,
{
    let merged = merge(kept(name)?, new);
    let lines: Vec<String> = merged.iter().map(line).collect();
    write(&file(name), &format!("[\n{}\n]\n", lines.join(",\n")))?;
    Ok(merged)
}

fn merge<R: Keyed>(mut kept: Vec<R>, new: Vec<R>) -> Vec<R> {
    for row in new {
        match kept.iter_mut().find(|old| old.key() == row.key()) {
            Some(old) => *old = row,
            None => kept.push(row),
        }
    }
    kept
}

/// The rows kept; none when nothing was measured yet. Rows of an older form are dropped.
pub fn kept<R: DeserializeOwned>(name: &str) -> Result<Vec<R>, String> {
    let path = file(name);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let odd = |error: &dyn Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| odd(&error))?;
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).map_err(|error| odd(&error))?;
    let rows = rows.into_iter().map(serde_json::from_value);
    Ok(rows.filter_map(Result::ok).collect())
}

/// One JSON object, without the line break.
pub fn line(row: &impl Serialize) -> String {
    serde_json::to_string(row).expect("rows are flat structs of numbers and strings")
}

/// Writes a picture.
pub fn draw(name: &str, picture: &str) -> Result<(), String> {
    let path = Path::new(FOLDER).join(name);
    write(&path, picture)?;
    eprintln!("drawn: {}", path.display());
    Ok(())
}

/// Writes a file and the folders above it.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn file(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.json"))
}

/// Three decimals are more than any of these measurements can promise.
pub fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// The day, as `2025-01-31`.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    date(since.map_or(0, |since| since.as_secs() / 86_400))
}

/// Days since 1970 in the calendar; from March on, leap days come last.
fn date(days: u64) -> String {
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str, u32);

    impl Keyed for Named {
        fn key(&self) -> String {
            self.0.to_owned()
        }
    }

    #[test]
    fn a_new_row_takes_the_place_of_the_old_one() {
        let merged = merge(
            vec![Named("a", 1), Named("b", 1)],
            vec![Named("c", 2), Named("a", 2)],
        );
        let seen: Vec<_> = merged.iter().map(|row| (row.0, row.1)).collect();
        assert_eq!(seen, [("a", 2), ("b", 1), ("c", 2)]);
    }

    #[test]
    fn what_is_wanted_is_found_by_any_of_its_names() {
        let names = ["HAProxy expert", "S1"];
        assert!(Wanted::default().has(&names));
        assert!(Wanted::parse("expert").has(&names));
        assert!(Wanted::parse("nginx,s1").has(&names));
        assert!(Wanted::parse("haproxy+s1").has(&names));
        assert!(!Wanted::parse("haproxy+s2,nginx").has(&names));
        assert!(!Wanted::parse("s1").has(&["HAProxy expert", "S10"]));
    }

    #[test]
    fn days_have_their_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_453, "2025-12-31"),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
