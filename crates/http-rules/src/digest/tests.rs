use super::*;

fn map(name: HeaderName, lines: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(name.clone(), HeaderValue::from_str(line).unwrap());
    }
    headers
}

// req: ED-06
#[test]
fn a_digest_that_is_told_is_read() {
    for algorithm in Algorithm::ALL {
        let hash = vec![7; algorithm.length()];
        let mut headers = HeaderMap::new();
        headers.insert(REPR_DIGEST, value(algorithm, &hash).unwrap());
        assert_eq!(given(&headers, algorithm), Some(hash));
    }
    assert_eq!(value(Algorithm::Sha256, &[1; 31]), None);
    // SHA-256 of nothing.
    let nothing = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
    let hash = given(&map(REPR_DIGEST, &[nothing]), Algorithm::Sha256).unwrap();
    assert_eq!(hash[..4], [0xe3, 0xb0, 0xc4, 0x42]);
    assert_eq!(value(Algorithm::Sha256, &hash).unwrap(), nothing);
}

#[test]
fn other_members_and_parameters_are_passed_over() {
    let nothing = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
    let lines = [
        &format!("md5=:AA==:, {nothing};a=\"x,y\""),
        "sha-512=:AA==:",
    ];
    let headers = map(REPR_DIGEST, &lines);
    assert!(given(&headers, Algorithm::Sha256).is_some());
    assert_eq!(given(&headers, Algorithm::Sha512), None, "too short");
    for odd in [
        "sha-256=AA",
        "sha-256",
        "sha-256=::",
        "sha-256=:!:",
        "xsha-256=:AA==:",
        "\"open",
    ] {
        assert_eq!(
            given(&map(REPR_DIGEST, &[odd]), Algorithm::Sha256),
            None,
            "{odd}"
        );
    }
}

// req: ED-06
#[test]
fn the_best_wanted_of_ours_is_chosen() {
    let want = |line| wanted(&map(WANT_REPR_DIGEST, &[line]));
    assert_eq!(
        want("sha-512=3, sha-256=10, unixsum=0"),
        Some(Algorithm::Sha256)
    );
    assert_eq!(want("sha-512=3, sha-256=1"), Some(Algorithm::Sha512));
    assert_eq!(want("sha-512=5, sha-256=5"), Some(Algorithm::Sha256));
    for odd in [
        "",
        "sha-256=0",
        "md5=9",
        "sha-256=11",
        "sha-256=-1",
        "sha-256",
    ] {
        assert_eq!(want(odd), None, "{odd}");
    }
}
