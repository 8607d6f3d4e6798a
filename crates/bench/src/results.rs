//! What was measured, kept under `target/bench` so that one row can be measured again by itself.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::sheet::{Plot, Row, Sheet};
use crate::{catalogue, circumstances};

/// Below the current directory.
pub(crate) const FOLDER: &str = "target/bench";

/// A result in a benchmark's own form, that takes the place of an earlier one of the same key.
pub trait Keyed: Sized {
    /// Which result it is.
    fn key(&self) -> String;

    /// All of them in the form of every benchmark.
    fn rows(all: &[Self]) -> Vec<Row>;

    /// What is drawn of them.
    fn plots(_all: &[Self]) -> Vec<Plot> {
        Vec::new()
    }
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

/// Puts new results among those kept, in the order they came first; gives all.
pub fn keep<R>(name: &str, new: Vec<R>) -> Result<Vec<R>, String>
where
    R: Keyed + Serialize + DeserializeOwned,
{
    let merged = merge(kept(name)?, new);
    let mut sheet = fresh(name)?;
    // Made anew from all, so that no row outlives the result it was made from.
    sheet.rows = R::rows(&merged);
    sheet.plots = R::plots(&merged);
    let value = |result: &R| serde_json::to_value(result).map_err(|error| error.to_string());
    sheet.details = merged.iter().map(value).collect::<Result<_, _>>()?;
    save(&sheet)?;
    Ok(merged)
}

/// Puts rows and pictures among those kept, for a benchmark without a form of its own.
pub fn keep_rows(name: &str, rows: Vec<Row>, plots: Vec<Plot>) -> Result<(), String> {
    let mut sheet = fresh(name)?;
    sheet.take(rows, plots);
    save(&sheet)
}

/// What is kept, with the circumstances of this run on top.
fn fresh(name: &str) -> Result<Sheet, String> {
    let circumstances = circumstances::of(name);
    let old = sheet(name)?.unwrap_or_default();
    Ok(Sheet {
        rows: old.rows,
        plots: old.plots,
        details: old.details,
        ..circumstances
    })
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

/// The results kept; none when nothing was measured yet. Results of an older form are dropped.
pub fn kept<R: DeserializeOwned>(name: &str) -> Result<Vec<R>, String> {
    let details = sheet(name)?.unwrap_or_default().details;
    let results = details.into_iter().map(serde_json::from_value);
    Ok(results.filter_map(Result::ok).collect())
}

/// What a benchmark left behind; nothing when it did not run yet. A file of an older form counts as none.
pub fn sheet(name: &str) -> Result<Option<Sheet>, String> {
    let path = file(name);
    if !path.exists() {
        return Ok(None);
    }
    let odd = |error: &dyn Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| odd(&error))?;
    Ok(serde_json::from_str(&text).ok())
}

/// What all benchmarks left behind, in their order.
pub fn all() -> Result<Vec<Sheet>, String> {
    let sheets = catalogue::all().into_iter().map(|entry| sheet(entry.name));
    Ok(sheets
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect())
}

/// Writes what a benchmark leaves behind, for people too.
pub fn save(sheet: &Sheet) -> Result<(), String> {
    let text = serde_json::to_string_pretty(sheet).map_err(|error| error.to_string())?;
    write(&file(&sheet.name), &(text + "\n"))
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

        fn rows(all: &[Self]) -> Vec<Row> {
            let row = |named: &Self| Row::new(named.0, "ours", f64::from(named.1), "µs");
            all.iter().map(row).collect()
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
