use super::*;
use proptest::prelude::*;
use std::io::Write;

const CAP: u64 = 8 * 1024 * 1024;
// A body is decoded wherever its request runs.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Decoder>();
};

const CODINGS: [Coding; 3] = [Coding::Gzip, Coding::Brotli, Coding::Zstd];

fn encoded(coding: Coding, plain: &[u8]) -> Vec<u8> {
    match coding {
        Coding::Gzip => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        Coding::Brotli => {
            let mut out = Vec::new();
            let params = ::brotli::enc::BrotliEncoderParams {
                quality: 5,
                ..Default::default()
            };
            ::brotli::BrotliCompress(&mut &plain[..], &mut out, &params).unwrap();
            out
        }
        Coding::Zstd => zstd::encode_all(plain, 3).unwrap(),
    }
}

fn decoded_in(
    coding: Coding,
    body: &[u8],
    chunk: usize,
    limits: Limits,
) -> Result<Vec<u8>, BadBody> {
    let mut decoder = Decoder::new(coding, limits);
    let mut plain = Vec::new();
    for part in body.chunks(chunk) {
        let mut input = Bytes::copy_from_slice(part);
        while let Some(piece) = decoder.push(&mut input)? {
            assert!(!piece.is_empty() && piece.len() <= PIECE_BYTES);
            plain.extend_from_slice(&piece);
        }
        assert!(input.is_empty(), "nothing is left when more is asked for");
    }
    decoder.finish()?;
    assert_eq!(decoder.decoded_bytes(), plain.len() as u64);
    Ok(plain)
}

fn decoded(coding: Coding, body: &[u8]) -> Result<Vec<u8>, BadBody> {
    decoded_in(coding, body, 16 * 1024, Limits::capped(CAP))
}

/// Bytes that hardly shrink.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

// req: GW-05
#[test]
fn every_coding_is_decoded_however_it_is_split() {
    let plain = noise(100_000);
    for coding in CODINGS {
        let body = encoded(coding, &plain);
        for chunk in [1, 7, 1000, body.len()] {
            let limits = Limits::capped(CAP);
            assert_eq!(
                decoded_in(coding, &body, chunk, limits).as_ref(),
                Ok(&plain),
                "{coding:?} by {chunk}"
            );
        }
        assert_eq!(
            decoded(coding, &encoded(coding, b"")),
            Ok(Vec::new()),
            "{coding:?}"
        );
    }
}

// req: GW-05
// attack: D-05, D-06
#[test]
fn a_bomb_ends_at_the_ratio_before_it_has_grown() {
    let zeros = vec![0; 64 * 1024 * 1024];
    for coding in CODINGS {
        let body = encoded(coding, &zeros);
        let mut decoder = Decoder::new(coding, Limits::capped(CAP));
        let mut input = Bytes::from(body);
        let mut got = 0;
        let bad = loop {
            match decoder.push(&mut input) {
                Ok(Some(piece)) => got += piece.len(),
                Ok(None) => panic!("{coding:?}: a bomb was decoded"),
                Err(bad) => break bad,
            }
        };
        assert_eq!(bad, BadBody::Ratio, "{coding:?}");
        assert!(got <= 1024 * 1024, "{coding:?}: {got}");
        assert!(decoder.decoded_bytes() <= (got + PIECE_BYTES) as u64);
        assert_eq!(
            decoder.push(&mut Bytes::new()),
            Err(bad),
            "it fails for good"
        );
        assert_eq!(decoder.finish(), Err(bad));
    }
    assert_eq!(BadBody::Ratio.status(), 413);
    assert_eq!(BadBody::Ratio.reason(), "decoded-ratio");
}

// req: GW-05
// attack: D-05, D-06
#[test]
fn growth_within_the_ratio_ends_at_the_cap() {
    let plain = noise(300_000);
    for coding in CODINGS {
        let body = encoded(coding, &plain);
        let decode = |cap| decoded_in(coding, &body, 4096, Limits::capped(cap));
        assert_eq!(decode(299_999), Err(BadBody::Cap), "{coding:?}");
        assert!(decode(300_000).is_ok(), "{coding:?}");
    }
    assert_eq!(
        (BadBody::Cap.status(), BadBody::Cap.reason()),
        (413, "decoded-cap")
    );
}

// req: GW-05
// attack: D-13
#[test]
fn a_tiny_body_may_grow_by_any_ratio_up_to_the_floor() {
    for coding in CODINGS {
        let body = encoded(coding, &vec![0; 64 * 1024]);
        assert!(
            body.len() < 6000,
            "{coding:?}: it would pass by its ratio alone"
        );
        assert_eq!(
            decoded(coding, &body).map(|plain| plain.len()),
            Ok(64 * 1024),
            "{coding:?}"
        );
        let larger = encoded(coding, &vec![0; 64 * 1024 + 1]);
        assert_eq!(decoded(coding, &larger), Err(BadBody::Ratio), "{coding:?}");
    }
}

// req: GW-05
// attack: D-09
#[test]
fn a_truncated_body_is_refused_wherever_it_is_cut() {
    for coding in CODINGS {
        let body = encoded(coding, &noise(2000));
        for cut in 0..body.len() {
            assert_eq!(
                decoded(coding, &body[..cut]),
                Err(BadBody::Truncated),
                "{coding:?} at {cut}"
            );
        }
    }
    for coding in [Coding::Gzip, Coding::Zstd] {
        let (first, second) = (encoded(coding, b"one"), encoded(coding, &noise(200)));
        let both = [&first[..], &second].concat();
        for cut in first.len() + 1..both.len() {
            assert_eq!(
                decoded(coding, &both[..cut]),
                Err(BadBody::Truncated),
                "{coding:?} at {cut}"
            );
        }
    }
    assert_eq!(BadBody::Truncated.status(), 400);
}

// req: GW-05
// attack: D-10
#[test]
fn a_wrong_checksum_is_refused() {
    let body = encoded(Coding::Gzip, b"hello, hello");
    for at in body.len() - 8..body.len() {
        let mut bad = body.clone();
        bad[at] ^= 1;
        assert_eq!(
            decoded(Coding::Gzip, &bad),
            Err(BadBody::Broken),
            "byte {at}"
        );
    }
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(b"hello, hello").unwrap();
    let mut bad = encoder.finish().unwrap();
    *bad.last_mut().unwrap() ^= 1;
    assert_eq!(decoded(Coding::Zstd, &bad), Err(BadBody::Broken));
}

// req: GW-05
// attack: D-10
#[test]
fn what_follows_the_end_is_refused() {
    for coding in CODINGS {
        for junk in [
            &b"junk"[..],
            b"\0",
            b"\n",
            b"\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            let mut body = encoded(coding, b"hello");
            body.extend_from_slice(junk);
            for chunk in [1, 1000] {
                let bad = decoded_in(coding, &body, chunk, Limits::capped(CAP)).unwrap_err();
                assert_eq!(bad.status(), 400, "{coding:?} {junk:?}");
            }
        }
    }
}

// req: GW-05
// attack: D-11
#[test]
fn members_and_frames_are_summed() {
    for coding in [Coding::Gzip, Coding::Zstd] {
        let two = [encoded(coding, b"one, "), encoded(coding, b"two")].concat();
        assert_eq!(decoded(coding, &two).as_deref(), Ok(&b"one, two"[..]));
        let member = encoded(coding, &noise(1000));
        let many = member.repeat(100);
        let decode = |cap| decoded_in(coding, &many, 5000, Limits::capped(cap));
        assert_eq!(decode(99_999), Err(BadBody::Cap), "{coding:?}");
        assert!(decode(100_000).is_ok());
        let bomb = encoded(coding, &vec![0; 60 * 1024]).repeat(100);
        assert_eq!(decoded(coding, &bomb), Err(BadBody::Ratio), "{coding:?}");
    }
}

// req: GW-05
// attack: D-07
#[test]
fn a_frame_that_needs_a_huge_window_is_refused() {
    // Magic, a descriptor without content size, and the window byte: exponent above 10, no mantissa.
    let frame = |log: u8| {
        [
            0x28,
            0xb5,
            0x2f,
            0xfd,
            0x00,
            (log - 10) << 3,
            0x01,
            0x00,
            0x00,
        ]
    };
    assert_eq!(decoded(Coding::Zstd, &frame(23)), Ok(Vec::new()));
    for log in [24, 27, 31, 41] {
        assert_eq!(
            decoded(Coding::Zstd, &frame(log)),
            Err(BadBody::Window),
            "2^{log}"
        );
    }
    assert_eq!(BadBody::Window.status(), 413);
}

// attack: D-06
#[test]
fn the_large_windows_that_are_no_standard_are_refused() {
    let mut out = Vec::new();
    let params = ::brotli::enc::BrotliEncoderParams {
        quality: 5,
        large_window: true,
        lgwin: 28,
        ..Default::default()
    };
    ::brotli::BrotliCompress(&mut &noise(5000)[..], &mut out, &params).unwrap();
    assert_eq!(decoded(Coding::Brotli, &out), Err(BadBody::Broken));
}

#[test]
fn all_fields_of_a_gzip_header_are_skipped_and_its_checksum_compared() {
    let deflated = &encoded(Coding::Gzip, b"hello")[10..];
    let mut header = vec![0x1f, 0x8b, 8, 0x1f, 1, 2, 3, 4, 0, 255];
    header.extend_from_slice(b"\x03\x00abcname\0comment\0");
    let mut crc = flate2::Crc::new();
    crc.update(&header);
    header.extend_from_slice(&(crc.sum() as u16).to_le_bytes());
    let body = [&header, deflated].concat();
    for chunk in [1, 100] {
        let plain = decoded_in(Coding::Gzip, &body, chunk, Limits::capped(CAP));
        assert_eq!(plain.as_deref(), Ok(&b"hello"[..]));
    }
    for at in [0, 1, 2, 12, 15, header.len() - 2, header.len() - 1] {
        let mut bad = body.clone();
        bad[at] ^= 0x40;
        assert_eq!(
            decoded(Coding::Gzip, &bad),
            Err(BadBody::Broken),
            "byte {at}"
        );
    }
    let mut reserved = encoded(Coding::Gzip, b"hello");
    reserved[3] = 0x20;
    assert_eq!(decoded(Coding::Gzip, &reserved), Err(BadBody::Broken));
}

#[test]
fn every_refusal_has_its_own_code_and_a_sentence() {
    for (at, bad) in BadBody::ALL.iter().enumerate() {
        assert!(matches!(bad.status(), 400 | 413 | 415));
        assert!(bad.to_string().ends_with('.'));
        assert!(
            BadBody::ALL[..at]
                .iter()
                .all(|other| other.reason() != bad.reason())
        );
    }
}

fn codings() -> impl Strategy<Value = Coding> {
    prop_oneof![Just(Coding::Gzip), Just(Coding::Brotli), Just(Coding::Zstd)]
}

proptest! {
    // req: GW-05
    #[test]
    fn what_was_coded_comes_back(
        coding in codings(),
        plain in proptest::collection::vec(any::<u8>(), 0..3000),
        chunk in 1..500_usize,
    ) {
        let body = encoded(coding, &plain);
        prop_assert_eq!(decoded_in(coding, &body, chunk, Limits::capped(CAP)), Ok(plain));
    }

    // req: GW-05
    #[test]
    fn a_damaged_body_never_exceeds_its_limits(
        coding in codings(),
        plain in proptest::collection::vec(0..4_u8, 0..3000),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        chunk in 1..500_usize,
    ) {
        let mut body = encoded(coding, &plain);
        for (at, byte) in damage {
            let at = at.index(body.len());
            body[at] = byte;
        }
        let limits = Limits { ratio: 2, floor_bytes: 1000, cap_bytes: 2500 };
        if let Ok(plain) = decoded_in(coding, &body, chunk, limits) {
            prop_assert!(plain.len() <= 2500);
            prop_assert!(plain.len() <= 1000.max(2 * body.len()));
        }
    }
}
