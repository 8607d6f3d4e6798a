use http::{HeaderName, HeaderValue};
use proptest::prelude::*;

use super::super::Decoder;
use super::*;

fn entry(nth: usize, value_bytes: usize) -> Entry {
    let name = HeaderName::try_from(format!("x-{nth}")).unwrap();
    let name_bytes = name.as_str().len();
    let value = HeaderValue::try_from("v".repeat(value_bytes)).unwrap();
    Entry::new(Ok(Field::Header(name, value)), name_bytes, value_bytes)
}

fn names(table: &Table) -> Vec<String> {
    let name = |entry: &Entry| match &entry.field {
        Field::Header(name, _) => name.to_string(),
        other => panic!("{other:?}"),
    };
    table.entries.iter().map(name).collect()
}

#[test]
fn the_newest_stands_first_behind_what_is_fixed() {
    let mut table = Table::default();
    table.insert(entry(1, 5));
    table.insert(entry(2, 5));
    let name = |index| table.get(index).map(|entry| entry.name());
    assert_eq!(
        name(62),
        Some((Name::Header(HeaderName::from_static("x-2")), 3))
    );
    assert_eq!(
        name(63),
        Some((Name::Header(HeaderName::from_static("x-1")), 3))
    );
    assert_eq!((name(0), name(64), name(usize::MAX)), (None, None, None));
    assert_eq!(
        name(61),
        Some((
            Name::Header(HeaderName::from_static("www-authenticate")),
            16
        ))
    );
}

#[test]
fn what_is_larger_than_the_table_leaves_it_empty() {
    let mut table = Table::default();
    table.insert(entry(1, 5));
    table.insert(entry(2, 4096 - 32 - 3));
    assert_eq!((names(&table), table.size), (vec!["x-2".to_owned()], 4096));
    table.insert(entry(3, 4096 - 32 - 2));
    assert_eq!((table.entries.len(), table.size), (0, 0));
    table.insert(entry(4, 5));
    assert_eq!(names(&table), ["x-4"]);
}

#[test]
fn a_smaller_table_forgets_the_oldest_and_a_larger_one_is_refused() {
    let mut table = Table::default();
    (0..4).for_each(|nth| table.insert(entry(nth, 5)));
    assert_eq!(table.resize(2 * 40), Ok(()));
    assert_eq!(names(&table), ["x-3", "x-2"]);
    assert_eq!(table.resize(2 * 40 - 1), Ok(()));
    assert_eq!(names(&table), ["x-3"]);
    assert_eq!(table.resize(4097), Err(Broken::TableSize));
    assert_eq!(table.resize(usize::MAX), Err(Broken::TableSize));
    assert_eq!(table.resize(4096), Ok(()));
    assert_eq!(names(&table), ["x-3"]);
}

#[test]
fn a_connection_that_waits_holds_little() {
    fn is_send<T: Send>() {}
    is_send::<Decoder>();
    assert!(size_of::<Decoder>() <= 64);
    let mut table = Table::default();
    assert_eq!(table.entries.capacity(), 0);
    (0..5).for_each(|nth| table.insert(entry(nth, 40)));
    let values = 5 * 64;
    let held = table.entries.capacity() * size_of::<Entry>() + values;
    assert!(held < 1024, "{held} bytes");
    assert_eq!(table.resize(0), Ok(()));
    assert_eq!(table.entries.capacity(), 0);
}

#[test]
fn a_full_table_is_no_more_than_its_size_allows() {
    let mut table = Table::default();
    (0..1000).for_each(|_| table.insert(Entry::new(Err(Name::Unfit), 0, 0)));
    assert_eq!(table.entries.len(), 128);
    assert!(table.entries.capacity() * size_of::<Entry>() <= 16 * 1024);
}

#[test]
fn an_unfit_field_keeps_a_name_that_is_fit() {
    let name = Name::Header(HeaderName::from_static("x-tenant"));
    let entry = Entry::new(Err(name.clone()), 8, 1);
    assert_eq!((&entry.field, entry.name()), (&Field::Unfit, (name, 8)));
    let entry = Entry::new(Err(Name::Unfit), 8, 1);
    assert_eq!(entry.name(), (Name::Unfit, 8));
}

proptest! {
    #[test]
    fn what_is_remembered_fits_and_the_next_older_would_not(
        sizes in prop::collection::vec(0_usize..1500, 1..80),
        most in 0_usize..=4096,
    ) {
        let mut table = Table::default();
        table.resize(most).unwrap();
        let mut all = Vec::new();
        for (nth, value_bytes) in sizes.into_iter().enumerate() {
            let entry = entry(nth, value_bytes);
            all.push(entry.size());
            table.insert(entry);
            let held = table.entries.len();
            let size = |count: usize| all.iter().rev().take(count).sum::<usize>();
            prop_assert_eq!(table.size as usize, size(held));
            prop_assert!(size(held) <= most);
            prop_assert!(held == all.len() || size(held + 1) > most);
        }
    }
}
