//! Any bytes as a coded body: bounded, and the same however they are split.

use bytes::Bytes;
use http_rules::decode::{BadBody, Coding, Decoder, Limits, PIECE_BYTES};

const CAP_BYTES: u64 = 256 * 1024;

/// The first byte picks the coding, the second the size of the chunks.
pub fn exercise(data: &[u8]) {
    let [coding, chunk, body @ ..] = data else {
        return;
    };
    let coding = [Coding::Gzip, Coding::Brotli, Coding::Zstd][usize::from(coding % 3)];
    // No ratio here: it is judged as the body arrives, so it depends on the split.
    let capped = Limits {
        ratio: u64::MAX,
        floor_bytes: CAP_BYTES,
        cap_bytes: CAP_BYTES,
    };
    let at_once = decoded(coding, body, usize::MAX, capped);
    let in_chunks = decoded(coding, body, usize::from(*chunk) + 1, capped);
    assert_eq!(
        at_once.is_ok(),
        in_chunks.is_ok(),
        "{at_once:?} {in_chunks:?}"
    );
    if let (Ok(one), Ok(other)) = (&at_once, &in_chunks) {
        assert!(one == other, "the split changed the bytes");
    }
    let guarded = Limits {
        ratio: 2,
        floor_bytes: 1024,
        cap_bytes: CAP_BYTES,
    };
    if let Ok(plain) = decoded(coding, body, usize::from(*chunk) + 1, guarded) {
        assert!(plain.len() <= 1024.max(2 * body.len()));
    }
}

fn decoded(coding: Coding, body: &[u8], chunk: usize, limits: Limits) -> Result<Vec<u8>, BadBody> {
    let mut decoder = Decoder::new(coding, limits);
    let mut plain = Vec::new();
    for part in body.chunks(chunk) {
        let mut input = Bytes::copy_from_slice(part);
        while let Some(piece) = decoder.push(&mut input)? {
            assert!(!piece.is_empty() && piece.len() <= PIECE_BYTES);
            plain.extend_from_slice(&piece);
            assert!(plain.len() as u64 <= limits.cap_bytes);
        }
        assert!(input.is_empty());
    }
    decoder.finish()?;
    Ok(plain)
}
