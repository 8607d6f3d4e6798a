//! Reads the fields of answers, and takes nothing that RFC 7541 forbids.

use std::collections::VecDeque;

/// Names, and values behind a blank, in the order of the static table.
const STATIC: &str = ":authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https|\
    :status 200|:status 204|:status 206|:status 304|:status 400|:status 404|:status 500|accept-charset|\
    accept-encoding gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|\
    authorization|cache-control|content-disposition|content-encoding|content-language|content-length|\
    content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|\
    if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards|\
    proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|\
    strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate";

/// The characters of each length in Huffman's code, which is canonical; longer ones are in no answer.
const LENGTHS: [(u32, &str); 10] = [
    (5, "012aceiost"),
    (6, " %-./3456789=A_bdfghlmnpru"),
    (7, ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
    (8, "&*,;XZ"),
    (10, "!\"()?"),
    (11, "'+|"),
    (12, "#>"),
    (13, "\0$@[]~"),
    (14, "^}"),
    (15, "<`{"),
];

/// Each character with its code and how many bits that has.
fn codes() -> impl Iterator<Item = (u8, u32, u32)> {
    let (mut code, mut bits) = (0, 0);
    LENGTHS.iter().flat_map(move |(length, characters)| {
        code <<= length - bits;
        bits = *length;
        let first = code;
        code += characters.len() as u32;
        (first..)
            .zip(characters.bytes())
            .map(|(code, character)| (character, code, *length))
    })
}

/// A string in Huffman's code.
pub(super) fn squeezed(text: &str) -> Vec<u8> {
    let mut bits = Vec::new();
    for byte in text.bytes() {
        let (_, code, length) = codes().find(|code| code.0 == byte).expect("has a code");
        bits.extend((0..length).rev().map(|at| (code >> at & 1) as u8));
    }
    while bits.len() % 8 != 0 {
        bits.push(1);
    }
    let bytes = bits
        .chunks(8)
        .map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | bit));
    let bytes: Vec<u8> = bytes.collect();
    [super::integer(7, 0x80, bytes.len()), bytes].concat()
}

fn stretched(bytes: &[u8]) -> String {
    let all: Vec<_> = codes().collect();
    let (mut text, mut code, mut length) = (String::new(), 0, 0);
    for at in 0..bytes.len() * 8 {
        code = code << 1 | u32::from(bytes[at / 8] >> (7 - at % 8) & 1);
        length += 1;
        if let Some((byte, ..)) = all
            .iter()
            .find(|known| (known.1, known.2) == (code, length))
        {
            text.push(char::from(*byte));
            (code, length) = (0, 0);
        }
        assert!(length < 16, "no code of an answer is that long");
    }
    assert!(
        length < 8 && code + 1 == 1 << length,
        "padding of something else than ones"
    );
    text
}

pub(super) type Fields = Vec<(String, String)>;

/// A table of fields as the door writes it.
pub(super) struct Reader {
    table: VecDeque<(String, String)>,
    size: usize,
    /// What the door said last.
    max: usize,
    /// What we allow.
    pub(super) limit: usize,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            table: VecDeque::new(),
            size: 0,
            max: 4096,
            limit: 4096,
        }
    }
}

impl Reader {
    /// What a block says; panics at one that says nothing.
    pub(super) fn read(&mut self, mut block: &[u8]) -> Fields {
        let mut fields = Fields::new();
        while let [first, ..] = *block {
            if first & 0xe0 == 0x20 {
                assert!(fields.is_empty(), "a size of the table behind a field");
                self.max = number(&mut block, 5);
                assert!(self.max <= self.limit, "a table larger than we allow");
                self.evict(0);
                continue;
            }
            assert!(
                self.max <= self.limit,
                "a smaller table is not acknowledged"
            );
            if first & 0x80 != 0 {
                fields.push(self.entry(number(&mut block, 7)));
                continue;
            }
            let keep = first & 0x40 != 0;
            let name = match number(&mut block, if keep { 6 } else { 4 }) {
                0 => string(&mut block),
                index => self.entry(index).0,
            };
            let entry = (name, string(&mut block));
            if keep {
                self.keep(entry.clone());
            }
            fields.push(entry);
        }
        fields
    }

    fn entry(&self, index: usize) -> (String, String) {
        assert!(index > 0, "no field is the zeroth");
        let fixed = STATIC.split('|').nth(index - 1).map(|entry| {
            let (name, value) = entry.split_once(' ').unwrap_or((entry, ""));
            (name.to_owned(), value.to_owned())
        });
        let found = fixed.or_else(|| self.table.get(index - 62).cloned());
        found.expect("a field that is in no table")
    }

    fn keep(&mut self, entry: (String, String)) {
        let size = entry.0.len() + entry.1.len() + 32;
        self.evict(size);
        if size <= self.max {
            self.size += size;
            self.table.push_front(entry);
        }
    }

    fn evict(&mut self, room: usize) {
        while self.size + room > self.max {
            let Some((name, value)) = self.table.pop_back() else {
                return;
            };
            self.size -= name.len() + value.len() + 32;
        }
    }
}

fn number(block: &mut &[u8], prefix: u32) -> usize {
    let most = (1 << prefix) - 1;
    let mut value = usize::from(block[0]) & most;
    *block = &block[1..];
    if value < most {
        return value;
    }
    for shift in (0..28).step_by(7) {
        let byte = block[0];
        *block = &block[1..];
        value += usize::from(byte & 127) << shift;
        if byte < 128 {
            return value;
        }
    }
    panic!("a number without end");
}

fn string(block: &mut &[u8]) -> String {
    let squeezed = block[0] & 0x80 != 0;
    let length = number(block, 7);
    let (bytes, rest) = block.split_at(length);
    *block = rest;
    if squeezed {
        return stretched(bytes);
    }
    String::from_utf8(bytes.to_vec()).expect("answers are text")
}

#[test]
fn strings_are_squeezed_as_the_examples_are() {
    let coded = squeezed("www.example.com");
    let example = [
        0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
    ];
    assert_eq!(coded, example);
    assert_eq!(string(&mut &coded[..]), "www.example.com");
}
