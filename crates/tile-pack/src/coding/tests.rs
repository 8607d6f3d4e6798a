use super::*;

const ALL: [Coding; 4] = [Coding::None, Coding::Gzip, Coding::Brotli, Coding::Zstd];

fn compressed(coding: Coding, plain: &[u8]) -> Vec<u8> {
    if let Some(bytes) = coding.deflate(plain).unwrap() {
        return bytes;
    }
    let mut bytes = Vec::new();
    let mut writer = brotli::CompressorWriter::new(&mut bytes, 4096, 5, 22);
    writer.write_all(plain).unwrap();
    drop(writer);
    bytes
}

// req: ED-01
#[test]
fn every_coding_gives_back_what_went_in() {
    let plain: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
    for coding in ALL {
        let bytes = compressed(coding, &plain);
        assert_eq!(
            coding.inflate(&bytes, plain.len()).as_deref(),
            Ok(&plain[..])
        );
    }
}

// attack: L-18
// req: ED-02
#[test]
fn a_bomb_ends_at_the_limit() {
    let bomb = vec![0; 8 << 20];
    for coding in ALL {
        let bytes = compressed(coding, &bomb);
        assert_eq!(coding.inflate(&bytes, 1 << 20), Err(NotInflated::TooLarge));
    }
}

#[test]
fn a_limit_is_reached_and_not_passed() {
    for coding in ALL {
        let bytes = compressed(coding, &[7; 100]);
        assert!(coding.inflate(&bytes, 100).is_ok());
        assert_eq!(coding.inflate(&bytes, 99), Err(NotInflated::TooLarge));
    }
}

#[test]
fn damaged_bytes_are_told_from_whole_ones() {
    let plain: Vec<u8> = (0..5_000_u32).flat_map(u32::to_le_bytes).collect();
    for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
        let whole = compressed(coding, &plain);
        let cut = &whole[..whole.len() / 2];
        assert_eq!(
            coding.inflate(cut, 1 << 20),
            Err(NotInflated::Broken),
            "{coding:?}"
        );
    }
}

// attack: D-07
#[test]
fn a_huge_zstandard_window_is_refused() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&[1; 100]).unwrap();
    let bytes = encoder.finish().unwrap();
    assert_eq!(
        Coding::Zstd.inflate(&bytes, 1 << 20),
        Err(NotInflated::Broken)
    );
}

#[test]
fn marks_are_seen() {
    for coding in [Coding::None, Coding::Gzip, Coding::Zstd] {
        assert_eq!(Coding::sniff(&compressed(coding, b"\x1a\x05hello")), coding);
    }
}
