use super::super::coded;
use super::super::name::Name;
use super::*;

#[test]
fn the_fixed_entries_are_those_of_the_standard() {
    assert_eq!(coded::fixed().len(), LAST);
    for (entry, said) in FIXED.iter().zip(coded::fixed()) {
        let name = Name::read(&said.0);
        let expected = name.clone().with(&said.1, false).unwrap_or(Field::Unfit);
        assert_eq!(entry.field, expected);
        assert_eq!(entry.size(), coded::size(&said));
        assert_eq!(entry.name(), (name, said.0.len()));
    }
}

#[test]
fn every_fixed_name_is_found_and_no_other() {
    for (at, (name, _)) in coded::fixed().iter().enumerate().skip(HEADERS - 1) {
        let name = HeaderName::from_bytes(name).unwrap();
        assert_eq!(index(&name).map(usize::from), Some(at + 1), "{name}");
    }
    for name in [
        "x",
        "te",
        "dates",
        "dnt",
        "origin",
        "x-request-id",
        "content-typo",
    ] {
        assert_eq!(index(&HeaderName::from_static(name)), None);
    }
}

#[test]
fn the_first_status_is_where_it_is_said_to_be() {
    let status = usize::from(STATUS) - 1;
    assert_eq!(coded::fixed()[status].0, b":status");
    assert_eq!(coded::fixed()[status - 1].0, b":scheme");
}
