//! Any length and any text as a range: what is sent lies within, overlaps nowhere and is never more than the whole.

use http_rules::range::{Multipart, Selection, parse};

/// The first eight bytes are the length, the rest is the header.
pub fn exercise(data: &[u8]) {
    let Some((length, value)) = data.split_first_chunk() else {
        return;
    };
    let length = u64::from_le_bytes(*length);
    let selection = parse(value, length);
    assert_eq!(selection, parse(value, length));
    let mut spans = match selection {
        Selection::Whole | Selection::Unsatisfiable => return,
        Selection::One(span) => vec![span],
        Selection::Many(spans) => {
            assert!(spans.len() > 1);
            spans
        }
    };
    let parts = Multipart::new(1, "a/b", length);
    let framed = if length < u64::MAX / 2 {
        parts.content_length(&spans)
    } else {
        0
    };
    assert!(framed <= length.saturating_add(spans.len() as u64 * 200 + 100));
    spans.sort_by_key(|span| span.first);
    for span in &spans {
        assert!(span.first <= span.last && span.last < length);
        assert!(!span.content_range(length).is_empty());
    }
    assert!(spans.windows(2).all(|pair| pair[0].last < pair[1].first));
}
