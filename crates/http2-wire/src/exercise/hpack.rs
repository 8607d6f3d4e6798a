//! The laws of packed heads, for any bytes at all.

use http2_wire::hpack::{self, Broken, Decoder, Field};

/// What a table may count, and what an entry counts at least.
const TABLE_BYTES: usize = 4096;
const ENTRY_BYTES: usize = 32;

/// Any bytes as the blocks of a connection, each behind its length: bounded, fit or called unfit, and the same again.
pub(crate) fn exercise(data: &[u8]) {
    let (mut decoder, mut again) = (Decoder::new(), Decoder::new());
    let mut rest = data;
    while let Some((&length, behind)) = rest.split_first() {
        let (block, behind) = behind.split_at(behind.len().min(length.into()));
        rest = behind;
        let (fields, end) = unpack(&mut decoder, block);
        assert!(fields.len() <= block.len(), "more fields than bytes");
        assert_eq!(unpack(&mut again, block), (fields.clone(), end));
        fields.iter().for_each(|(field, size)| fit(field, *size));
        if end.is_err() {
            break;
        }
    }
    let remembered = remembered(&mut decoder);
    assert!(remembered <= TABLE_BYTES, "more is remembered than may be");
}

fn unpack(decoder: &mut Decoder, block: &[u8]) -> (Vec<(Field, usize)>, Result<(), Broken>) {
    let mut fields = Vec::new();
    let end = decoder.decode(block, |field, size| fields.push((field.clone(), size)));
    (fields, end)
}

/// What is shown as fit can be said on, and is heard as the same.
fn fit(field: &Field, size: usize) {
    assert!(size >= ENTRY_BYTES);
    let Field::Header(name, value) = field else {
        return;
    };
    let (name_bytes, text) = (name.as_str().as_bytes(), value.as_bytes());
    assert_eq!(size, name_bytes.len() + text.len() + ENTRY_BYTES);
    assert!(!name_bytes.iter().any(u8::is_ascii_uppercase) && !name_bytes.contains(&b':'));
    assert!(!text.iter().any(|byte| b"\r\n\0".contains(byte)));
    assert_eq!(text, text.trim_ascii(), "blanks around a value");
    let mut packed = Vec::new();
    hpack::field(&mut packed, name, value);
    let (heard, end) = unpack(&mut Decoder::new(), &packed);
    assert_eq!((&heard[..], end), (&[(field.clone(), size)][..], Ok(())));
    let Some((Field::Header(_, heard), _)) = heard.first() else {
        return;
    };
    assert_eq!(heard.is_sensitive(), value.is_sensitive());
}

/// What all entries that can still be pointed at count together.
fn remembered(decoder: &mut Decoder) -> usize {
    let mut bytes = 0;
    for index in 62..=u8::MAX {
        // Behind 126, an index goes on in the next octet.
        let block = match index {
            ..127 => vec![0x80 | index],
            _ => vec![0xff, index - 127],
        };
        match unpack(decoder, &block) {
            (fields, Ok(())) => bytes += fields.iter().map(|(_, size)| size).sum::<usize>(),
            (_, Err(_)) => return bytes,
        }
    }
    bytes
}
