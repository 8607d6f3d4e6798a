use super::{Hash, NotAHash};

#[test]
fn a_hash_is_the_plain_blake3_of_the_bytes() {
    assert_eq!(
        Hash::of(b"hello world").to_string(),
        "d74981efa70a0c880b8d8c1985d075dbcbf679b99a5f9914e5aaf96b831a9e24"
    );
}

#[test]
fn what_is_printed_parses_to_the_same_hash() {
    let hash = Hash::of(b"x");
    assert_eq!(hash.to_string().parse(), Ok(hash));
    assert_eq!(format!("{hash:?}"), hash.to_string());
}

#[test]
fn a_hash_has_one_spelling() {
    let good = Hash::of(b"x").to_string();
    for bad in [
        "",
        "..",
        &good[1..],
        &format!("{good}0"),
        &good.to_uppercase(),
        &good.replacen(|_: char| true, "/", 1),
        &good.replacen(|_: char| true, "é", 1),
    ] {
        assert_eq!(bad.parse::<Hash>(), Err(NotAHash), "{bad}");
    }
}
