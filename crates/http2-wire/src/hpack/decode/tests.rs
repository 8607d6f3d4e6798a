use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use proptest::prelude::*;

use super::super::coded::{self, Manner, Peer, Said};
use super::*;

mod examples;

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<(Field, usize)>, Broken> {
    let mut fields = Vec::new();
    decoder.decode(block, |field, size| fields.push((field.clone(), size)))?;
    Ok(fields)
}

/// What is remembered, newest first.
fn table(decoder: &Decoder) -> Vec<(Field, usize)> {
    let entry = |index| decoder.table.get(index);
    let entries = (62..).map_while(entry);
    entries
        .map(|entry| (entry.field.clone(), entry.size()))
        .collect()
}

/// The field that somebody means.
fn meant(said: &Said) -> (Field, usize) {
    let (name, value) = said;
    let bytes = || Bytes::copy_from_slice(value);
    let token = |byte: &u8| {
        let letter = byte.is_ascii_lowercase() || byte.is_ascii_digit();
        letter || b"!#$%&'*+-.^_`|~".contains(byte)
    };
    let blank = |byte: Option<&u8>| byte.is_some_and(|byte| b" \t".contains(byte));
    let control = |byte: &u8| *byte != b'\t' && byte.is_ascii_control();
    let field = match &name[..] {
        b":method" => Method::from_bytes(value).map_or(Field::Unfit, Field::Method),
        b":scheme" => Field::Scheme(bytes()),
        b":authority" => Field::Authority(bytes()),
        b":path" => Field::Path(bytes()),
        name if name.is_empty() || !name.iter().all(token) => Field::Unfit,
        _ if blank(value.first()) || blank(value.last()) || value.iter().any(control) => {
            Field::Unfit
        }
        name => Field::Header(
            HeaderName::from_bytes(name).unwrap(),
            HeaderValue::from_bytes(value).unwrap(),
        ),
    };
    (field, coded::size(said))
}

#[test]
fn an_index_beyond_the_table_breaks() {
    for block in [
        &b"\x80"[..],
        b"\xbe",
        b"\xff\x80\x7f",
        b"\x7e\x00",
        b"\x0f\x2f\x00",
        b"\x1f\x2f\x00",
    ] {
        assert_eq!(decode(&mut Decoder::new(), block), Err(Broken::Index));
    }
}

#[test]
fn the_size_changes_twice_at_the_beginning_and_nowhere_else() {
    let mut decoder = Decoder::new();
    let mut check = |block: &[u8]| decode(&mut decoder, block).map(|fields| fields.len());
    assert_eq!(check(b"\x20\x3f\xe1\x1f\x82"), Ok(1));
    assert_eq!(check(b"\x20"), Ok(0));
    assert_eq!(check(b"\x20\x20\x20\x82"), Err(Broken::Misplaced));
    assert_eq!(check(b"\x82\x20"), Err(Broken::Misplaced));
    assert_eq!(check(b"\x3f\xe2\x1f"), Err(Broken::TableSize));
    assert_eq!(check(b"\x3f\xff\xff\xff\xff\x7f"), Err(Broken::Integer));
}

#[test]
fn a_block_that_is_cut_is_short_and_one_behind_a_field_is_whole() {
    let block = b"\x40\x0acustom-key\x0dcustom-header";
    for cut in 1..block.len() {
        assert_eq!(
            decode(&mut Decoder::new(), &block[..cut]),
            Err(Broken::Short)
        );
    }
    assert_eq!(decode(&mut Decoder::new(), b""), Ok(vec![]));
}

#[test]
fn badly_coded_strings_break() {
    for block in [
        &b"\x40\x81\xff\x00"[..],
        b"\x04\x81\xff",
        b"\x04\x84\xff\xff\xff\xff",
        b"\x04\x81\x00",
    ] {
        assert_eq!(decode(&mut Decoder::new(), block), Err(Broken::Huffman));
    }
}

#[test]
fn a_name_is_taken_from_an_entry_whose_value_is_unfit() {
    let mut decoder = Decoder::new();
    let fields = decode(
        &mut decoder,
        b"\x40\x03x-a\x01\n\x7e\x01b\xbf\x42\x00\x7e\x03GET\x40\x01A\x00\x7e\x00",
    );
    let header = Field::Header(
        HeaderName::from_static("x-a"),
        HeaderValue::from_static("b"),
    );
    let expected = [
        (Field::Unfit, 36),
        (header, 36),
        (Field::Unfit, 36),
        (Field::Unfit, 39),
        (Field::Method(Method::GET), 42),
        (Field::Unfit, 33),
        (Field::Unfit, 33),
    ];
    assert_eq!(fields.as_deref(), Ok(&expected[..]));
    assert_eq!(
        table(&decoder).iter().map(|entry| entry.1).sum::<usize>(),
        33 + 33 + 42 + 39 + 36 + 36
    );
}

#[test]
fn an_entry_may_push_out_the_one_whose_name_it_has() {
    let mut decoder = Decoder::new();
    decode(&mut decoder, b"\x3f\x11\x40\x04x-ab\x02cd").unwrap();
    let fields = decode(&mut decoder, b"\x7e\x0ccdefghijklmn").unwrap();
    assert_eq!(fields, table(&decoder));
    assert_eq!(
        fields,
        [meant(&(b"x-ab".to_vec(), b"cdefghijklmn".to_vec()))]
    );
}

#[test]
fn a_block_of_references_shows_each_and_copies_none() {
    let mut decoder = Decoder::new();
    let value = vec![b'v'; 4000];
    let block = [&b"\x40\x01x"[..], &coded::string(&value, false)].concat();
    decode(&mut decoder, &block).unwrap();
    let (mut fields, mut bytes) = (0, 0);
    let mut first = None;
    let seen = |field: &Field, size| {
        let Field::Header(_, value) = field else {
            panic!("a header");
        };
        let at = *first.get_or_insert(value.as_bytes().as_ptr());
        assert_eq!(value.as_bytes().as_ptr(), at);
        fields += 1;
        bytes += size;
    };
    assert_eq!(decoder.decode(&[0x80 | 62; 16_000], seen), Ok(()));
    assert_eq!((fields, bytes), (16_000, 16_000 * 4033));
}

fn said() -> impl Strategy<Value = Said> {
    let fixed = prop::sample::select(coded::fixed());
    let name = prop_oneof![
        4 => "[a-z0-9-]{1,12}".prop_map(String::into_bytes),
        4 => fixed.clone().prop_map(|said| said.0),
        1 => "[A-Za-z:\"]{0,4}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..70),
    ];
    let value = prop_oneof![
        4 => "[ -~]{0,40}".prop_map(String::into_bytes),
        1 => "(GET|QUERY)?".prop_map(String::into_bytes),
        1 => "[a-z]{0,800}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    prop_oneof![1 => fixed, 6 => (name, value)]
}

fn manner() -> impl Strategy<Value = Manner> {
    let kind = prop::sample::select(vec![0x40, 0x40, 0x40, 0, 0x10]);
    (kind, any::<[bool; 4]>()).prop_map(|(kind, [whole, by_name, name, value])| Manner {
        kind,
        whole,
        by_name,
        coded: (name, value),
    })
}

/// Blocks of fields out of a few, said in any manner, each behind changes of size.
type Blocks = Vec<(Vec<u32>, Vec<(prop::sample::Index, Manner)>)>;

fn blocks() -> impl Strategy<Value = Blocks> {
    let sizes = prop_oneof![
        3 => Just(vec![]),
        1 => prop::collection::vec(0_u32..=4096, 0..=2),
        1 => Just(vec![0, 4096]),
    ];
    let fields = prop::collection::vec((any::<prop::sample::Index>(), manner()), 0..15);
    prop::collection::vec((sizes, fields), 1..8)
}

proptest! {
    #[test]
    fn whatever_is_packed_is_unpacked_and_both_sides_remember_the_same(
        pool in prop::collection::vec(said(), 1..20),
        blocks in blocks(),
    ) {
        let mut peer = Peer { most: 4096, ..Peer::default() };
        let mut decoder = Decoder::new();
        for (sizes, fields) in blocks {
            let mut block: Vec<u8> = sizes.into_iter().flat_map(|most| peer.resize(most)).collect();
            let mut expected = Vec::new();
            for (which, manner) in fields {
                let said = which.get(&pool);
                block.extend(peer.say(said, manner));
                expected.push(meant(said));
            }
            prop_assert_eq!(decode(&mut decoder, &block), Ok(expected));
            prop_assert_eq!(table(&decoder), peer.table.iter().map(meant).collect::<Vec<_>>());
            prop_assert!(peer.size() <= peer.most);
        }
    }

    #[test]
    fn what_is_hidden_is_sensitive_and_nothing_else(kind in prop::sample::select(vec![0x40, 0, 0x10])) {
        let said = (b"x-key".to_vec(), b"secret".to_vec());
        let manner = Manner { kind, whole: false, by_name: false, coded: (true, true) };
        let block = Peer { most: 4096, ..Peer::default() }.say(&said, manner);
        let fields = decode(&mut Decoder::new(), &block).unwrap();
        let Field::Header(_, value) = &fields[0].0 else {
            panic!("a header");
        };
        prop_assert_eq!(value.is_sensitive(), kind == 0x10);
    }

    #[test]
    fn bytes_without_any_meaning_break_nothing(
        blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 1..6),
    ) {
        let mut decoder = Decoder::new();
        for block in blocks {
            let mut fields = 0;
            let _broken = decoder.decode(&block, |_, _| fields += 1);
            prop_assert!(fields <= block.len());
            prop_assert!(table(&decoder).iter().map(|entry| entry.1).sum::<usize>() <= 4096);
        }
    }
}
