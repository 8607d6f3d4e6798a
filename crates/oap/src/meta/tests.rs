use super::*;

fn read(section: &'static [u8]) -> Result<Meta, BadMeta> {
    Meta::decode(Bytes::from_static(section))
}

#[test]
fn what_was_written_is_what_is_read() {
    let all = Meta {
        token: Some("key".into()),
        deadline_ms: Some(1500),
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
    };
    let none = Meta::default();
    let some = Meta {
        deadline_ms: Some(0),
        ..Meta::default()
    };
    for meta in [all, none, some] {
        assert_eq!(Meta::decode(meta.encode()), Ok(meta));
    }
    assert!(Meta::default().encode().is_empty());
}

#[test]
fn a_section_that_can_be_read_in_two_ways_or_none_is_refused() {
    let broken: [&[u8]; 8] = [
        b"\x01",
        b"\x01\x00",
        b"\x01\x00\x02a",
        b"\x01\x00\x00",
        b"\x01\x00\x01a\x01\x00\x01b",
        b"\x02\x00\x03abc",
        b"\x02\x00\x05abcde",
        b"\x03\x00\x02a\n",
    ];
    for section in broken {
        assert_eq!(read(section), Err(BadMeta::Broken), "{section:?}");
    }
}

#[test]
fn an_item_from_the_future_is_refused_unless_it_may_be_passed_over() {
    for kind in [0, 4, 127] {
        let section = Bytes::from(vec![kind, 0, 0]);
        assert_eq!(Meta::decode(section), Err(BadMeta::Unknown), "{kind}");
    }
    let passed = b"\x80\x00\x02hi\x02\x00\x04\x00\x00\x00\x05\x80\x00\x00\xff\x00\x01x";
    assert_eq!(read(passed).unwrap().deadline_ms, Some(5));
}
