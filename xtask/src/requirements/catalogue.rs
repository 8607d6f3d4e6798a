//! The permanent ids: requirements as list items, attacks as table rows.

/// One promise.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) title: String,
}

impl Entry {
    pub(super) fn area(&self) -> &str {
        self.id.split('-').next().unwrap_or_default()
    }
}

/// `- KN-01 text` and `| A-01 | case | answer |`; every other line is prose.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    text.lines()
        .filter_map(|line| list_item(line).or_else(|| table_row(line)))
        .collect()
}

fn list_item(line: &str) -> Option<Entry> {
    let (id, title) = line.strip_prefix("- ")?.split_once(' ')?;
    entry(id, title)
}

fn table_row(line: &str) -> Option<Entry> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    entry(cells.next()?, cells.next()?)
}

fn entry(id: &str, title: &str) -> Option<Entry> {
    is_id(id).then(|| Entry {
        id: id.to_owned(),
        title: title.to_owned(),
    })
}

/// Capital letters, a dash, two digits: two letters for a requirement, one for an attack.
pub(super) fn is_id(word: &str) -> bool {
    let Some((area, number)) = word.split_once('-') else {
        return false;
    };
    let letters = matches!(area.len(), 1 | 2) && area.bytes().all(|b| b.is_ascii_uppercase());
    letters && number.len() == 2 && number.bytes().all(|b| b.is_ascii_digit())
}

pub(super) fn duplicates(entries: &[Entry]) -> impl Iterator<Item = &str> {
    let seen_before = |at: usize| entries[..at].iter().any(|other| other.id == entries[at].id);
    (0..entries.len())
        .filter(move |at| seen_before(*at))
        .map(|at| entries[at].id.as_str())
}

/// The areas in the order of the documents.
pub(super) fn areas(entries: &[Entry]) -> Vec<&str> {
    let mut areas: Vec<&str> = entries.iter().map(Entry::area).collect();
    areas.dedup();
    areas
}
