use super::*;
use crate::limits::CHUNK_BYTES_MAX;

fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

// req: TR-04
#[test]
fn a_message_in_one_payload_or_in_many_is_the_same_message() {
    let plain = noise(300_000);
    for codec in Codec::ALL {
        let mut inflater = Inflater::new(*codec);
        let mut seen = Vec::new();
        for chunk in plain.chunks(50_000) {
            let packed = codec.compress(chunk).unwrap();
            seen.extend_from_slice(&inflater.inflate(packed).unwrap());
        }
        assert_eq!(inflater.finish(), Ok(()));
        assert_eq!(seen, plain, "{codec:?}");
    }
}

// req: TR-04
// attack: G-14
#[test]
fn a_message_that_grows_tenfold_is_refused_however_it_is_cut() {
    for codec in Codec::ALL {
        let bomb = codec.compress(&vec![0; 1 << 20]).unwrap();
        let refused = Inflater::new(*codec).inflate(bomb);
        assert_eq!(refused, Err(BadBody::Ratio), "{codec:?}");
        let small = codec.compress(&vec![0; CHUNK_BYTES_MAX]).unwrap();
        let mut inflater = Inflater::new(*codec);
        let mut pieces = (0..100).map(|_| inflater.inflate(small.clone()));
        assert!(
            pieces.next().is_some_and(|first| first.is_ok()),
            "the floor"
        );
        assert!(
            pieces.any(|piece| piece == Err(BadBody::Ratio)),
            "{codec:?}"
        );
    }
}

// req: TR-04
// attack: G-14
#[test]
fn no_message_is_larger_than_the_cap_however_little_it_grows() {
    let plain = noise(CHUNK_BYTES_MAX);
    let packed = Codec::Zstd.compress(&plain).unwrap();
    let mut inflater = Inflater::new(Codec::Zstd);
    let most = DECODED_BYTES_MAX as usize / CHUNK_BYTES_MAX;
    for _ in 0..most {
        assert_eq!(inflater.inflate(packed.clone()).unwrap().len(), plain.len());
    }
    assert_eq!(inflater.inflate(packed), Err(BadBody::Cap));
}

// attack: G-11
#[test]
fn a_wrong_checksum_is_noticed() {
    for codec in Codec::ALL {
        let packed = codec.compress(&noise(1000)).unwrap();
        let mut spoilt = packed.to_vec();
        let last = match codec {
            Codec::Zstd => spoilt.len() - 1,
            Codec::Gzip => spoilt.len() - 5,
        };
        spoilt[last] ^= 1;
        let mut inflater = Inflater::new(*codec);
        let read = inflater.inflate(spoilt.into());
        assert_eq!(read, Err(BadBody::Broken), "{codec:?}");
        assert!(inflater.finish().is_err());
    }
}

#[test]
fn a_message_that_ends_early_is_noticed_at_its_end() {
    for codec in Codec::ALL {
        let packed = codec.compress(&noise(1000)).unwrap();
        let mut inflater = Inflater::new(*codec);
        inflater.inflate(packed.slice(..packed.len() - 9)).unwrap();
        assert_eq!(inflater.finish(), Err(BadBody::Truncated), "{codec:?}");
    }
}
