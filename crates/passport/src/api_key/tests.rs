use proptest::prelude::*;

use super::*;

#[test]
fn a_key_has_one_length_whatever_its_bytes() {
    let zeros = ApiKey::from_random(&[0; 32]);
    assert_eq!(zeros.text(), format!("mk_{}", "0".repeat(43)));
    let ones = ApiKey::from_random(&[0xff; 32]);
    assert_eq!(ones.text().len(), 46);
    let mut one = [0; 32];
    one[31] = 63;
    assert!(ApiKey::from_random(&one).text().ends_with("0011"));
}

#[test]
fn a_hash_line_reads_back() {
    let hash = ApiKey::from_random(&[7; 32]).hash();
    assert_eq!(hash.to_string().parse(), Ok(hash));
    let vector = "blake3:6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
    assert_eq!(KeyHash::of("abc").to_string(), vector);
    for bad in [
        "",
        "blake3:",
        "blake3:00",
        "sha256:00",
        &vector[7..],
        &format!("{vector}0"),
    ] {
        assert_eq!(bad.parse::<KeyHash>(), Err(BadKeyHash), "{bad}");
    }
}

#[test]
fn a_key_does_not_show_itself() {
    assert_eq!(format!("{:?}", ApiKey::from_random(&[7; 32])), "ApiKey(..)");
}

proptest! {
    #[test]
    fn other_bytes_make_another_key(one: [u8; 32], other: [u8; 32]) {
        let (a, b) = (ApiKey::from_random(&one), ApiKey::from_random(&other));
        prop_assert_eq!(one == other, a.text() == b.text());
        prop_assert!(a.text()[3..].bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}
