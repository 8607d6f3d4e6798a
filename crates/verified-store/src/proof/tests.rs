use super::{GROUP, Hasher, Proof, content_len, groups, values_len};
use crate::Hash;

const G: usize = GROUP as usize;

fn sample(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 % 251) as u8).collect()
}

fn hashed(bytes: &[u8], step: usize) -> (Hash, Vec<u8>) {
    let mut hasher = Hasher::new();
    bytes.chunks(step).for_each(|part| hasher.update(part));
    hasher.finish()
}

const LENGTHS: &[usize] = &[
    0,
    1,
    1024,
    G - 1,
    G,
    G + 1,
    2 * G,
    2 * G + 1,
    3 * G,
    4 * G + 7,
    5 * G - 1,
    7 * G + 3,
    8 * G,
    9 * G + 1,
];

// req: ED-03
#[test]
fn the_hash_is_plain_blake3_whatever_the_length_and_the_writes() {
    for len in LENGTHS {
        let bytes = sample(*len);
        for step in [1021, G / 2, G, G + 1, usize::MAX] {
            let (hash, values) = hashed(&bytes, step);
            assert_eq!(hash, Hash::of(&bytes), "{len} in steps of {step}");
            assert_eq!(values.len() as u64, values_len(*len as u64));
        }
    }
}

// req: ED-03
// attack: L-17
#[test]
fn a_proof_vouches_for_each_group_and_for_no_other_bytes() {
    for len in LENGTHS {
        let bytes = sample(*len);
        let (hash, values) = hashed(&bytes, G);
        let proof = Proof::read(&hash, &values).expect("an own proof");
        let parts: Vec<&[u8]> = match *len {
            0 => vec![&[]],
            _ => bytes.chunks(G).collect(),
        };
        assert_eq!(parts.len() as u64, groups(*len as u64));
        for (at, part) in parts.iter().enumerate() {
            assert!(proof.vouches(at as u64, part), "{len}, group {at}");
            assert!(
                !proof.vouches(at as u64 + 1, part),
                "{len}, group {at} elsewhere"
            );
            if let Some((_, shorter)) = part.split_last() {
                assert!(!proof.vouches(at as u64, shorter));
                let mut flipped = part.to_vec();
                flipped[part.len() / 2] ^= 1;
                assert!(!proof.vouches(at as u64, &flipped));
            }
        }
    }
}

// attack: L-17
#[test]
fn a_proof_with_any_flipped_bit_is_refused() {
    let (hash, values) = hashed(&sample(3 * G + 5), G);
    for bit in 0..values.len() * 8 {
        let mut flipped = values.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Proof::read(&hash, &flipped).is_none(), "bit {bit}");
    }
    assert!(Proof::read(&hash, &values[..64]).is_none());
    assert!(Proof::read(&hash, &values[..values.len() - 1]).is_none());
    assert!(Proof::read(&hash, &values[..32]).is_none());
}

#[test]
fn the_length_of_the_file_tells_the_length_of_the_object() {
    let mut possible = std::collections::HashMap::new();
    for len in (0..5 * GROUP)
        .step_by(7)
        .chain([GROUP, GROUP + 1, 2 * GROUP, 2 * GROUP + 1])
    {
        let file = len + values_len(len);
        assert_eq!(content_len(file), Some(len));
        possible.insert(file, len);
    }
    for file in [
        GROUP + 1,
        GROUP + 64,
        2 * GROUP + 65,
        2 * GROUP + 96,
        3 * GROUP + 97,
        u64::MAX,
    ] {
        if let Some(len) = content_len(file) {
            assert_eq!(len.checked_add(values_len(len)), Some(file), "{file}");
        }
    }
    assert_eq!(content_len(GROUP + 1), None);
    assert_eq!(
        content_len(GROUP + 64),
        None,
        "two groups need a byte in the second"
    );
    assert_eq!(content_len(GROUP + 65), Some(GROUP + 1));
    assert_eq!(content_len(2 * GROUP + 65), None);
}
