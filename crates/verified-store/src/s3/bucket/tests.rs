use super::{Addressing, Bucket, BucketError, Credentials, Span};
use crate::Hash;

fn credentials() -> Credentials {
    Credentials {
        access_key: "AKIAIOSFODNN7EXAMPLE".to_owned(),
        secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
        session_token: None,
    }
}

fn bucket(addressing: Addressing, prefix: &str) -> Bucket {
    Bucket::new(
        "s3.example.org:9000",
        addressing,
        "tiles",
        prefix,
        "eu-central-1",
        credentials(),
    )
    .expect("a good bucket")
}

#[test]
fn the_buckets_name_goes_where_it_belongs() {
    let hash = Hash::of(b"x");
    let by_host = bucket(Addressing::Host, "edge/1");
    assert_eq!(by_host.host(), "tiles.s3.example.org:9000");
    let request = by_host.get_object(&hash, None, 0);
    assert_eq!(request.target, format!("/edge/1/objects/{hash}"));
    let by_path = bucket(Addressing::Path, "");
    assert_eq!(by_path.host(), "s3.example.org:9000");
    assert_eq!(
        by_path.head_object(&hash, 0).target,
        format!("/tiles/objects/{hash}")
    );
    assert_eq!(
        by_path.delete_record(&hash, 0).target,
        format!("/tiles/records/{hash}")
    );
}

#[test]
fn all_that_is_sent_is_signed() {
    let mut bucket = bucket(Addressing::Path, "");
    bucket.credentials.session_token = Some("token".to_owned());
    let span = Span { first: 5, last: 9 };
    let request = bucket.get_object(&Hash::of(b"x"), Some(span), 0);
    let (authorization, rest) = request.headers.split_last().expect("headers");
    let names: Vec<&str> = rest.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "host",
            "range",
            "x-amz-content-sha256",
            "x-amz-date",
            "x-amz-security-token"
        ]
    );
    let signed = format!("SignedHeaders={},", names.join(";"));
    assert!(authorization.1.contains(&signed), "{}", authorization.1);
    assert_eq!(rest[1].1, "bytes=5-9");
}

#[test]
fn a_listing_goes_on_from_its_token() {
    let bucket = bucket(Addressing::Path, "a/b");
    assert_eq!(
        bucket.list_records(None, 0).target,
        "/tiles?list-type=2&prefix=a%2Fb%2Frecords%2F"
    );
    assert_eq!(
        bucket.list_records(Some("1/+="), 0).target,
        "/tiles?continuation-token=1%2F%2B%3D&list-type=2&prefix=a%2Fb%2Frecords%2F"
    );
}

#[test]
fn a_signature_is_good_for_one_moment_one_key_and_one_body() {
    let bucket = bucket(Addressing::Path, "");
    let (one, two) = (Hash::of(b"1"), Hash::of(b"2"));
    let requests = [
        bucket.put_record(&one, b"a", 0),
        bucket.put_record(&one, b"b", 0),
        bucket.put_record(&two, b"a", 0),
        bucket.put_record(&one, b"a", 1),
    ];
    let signatures: std::collections::HashSet<_> = requests
        .iter()
        .map(|request| request.headers.last().cloned())
        .collect();
    assert_eq!(signatures.len(), requests.len());
}

#[test]
fn what_would_make_another_request_is_refused() {
    let with = |endpoint: &str, name: &str, prefix: &str, region: &str| {
        Bucket::new(
            endpoint,
            Addressing::Path,
            name,
            prefix,
            region,
            credentials(),
        )
        .map(|_| ())
    };
    assert_eq!(with("h", "tiles", "", "r"), Ok(()));
    for (endpoint, name, prefix, region) in [
        ("", "tiles", "", "r"),
        ("user@h", "tiles", "", "r"),
        ("h/x", "tiles", "", "r"),
        ("h\r\nx: y", "tiles", "", "r"),
        ("h", "ti", "", "r"),
        ("h", "tiles/../other", "", "r"),
        ("h", "Tiles", "", "r"),
        ("h", "tiles", "a//b", "r"),
        ("h", "tiles", "../b", "r"),
        ("h", "tiles", "/a", "r"),
        ("h", "tiles", "a b", "r"),
        ("h", "tiles", "", "r/x"),
    ] {
        let refused = with(endpoint, name, prefix, region);
        assert!(
            matches!(refused, Err(BucketError(_))),
            "{endpoint} {name} {prefix} {region}"
        );
    }
    let mut bad = credentials();
    bad.session_token = Some("a\r\nb".to_owned());
    let refused = Bucket::new("h", Addressing::Path, "tiles", "", "r", bad)
        .expect_err("a header in a header");
    assert_eq!(refused.to_string(), "a session token is printable");
}

#[test]
fn secrets_are_not_printed() {
    let mut credentials = credentials();
    credentials.session_token = Some("hush".to_owned());
    let text = format!("{credentials:?}");
    assert!(!text.contains("wJalr") && !text.contains("hush"), "{text}");
}
