use super::*;

fn read(json: &str) -> Result<Hello, Violation> {
    Hello::read(json.as_bytes())
}

// req: TR-03
#[test]
fn a_hello_that_says_little_means_the_defaults() {
    let hello = read(r#"{"ua":"sdk/0.1","color":"blue"}"#).unwrap();
    let expected = Hello {
        ua: "sdk/0.1".to_owned(),
        ..Hello::default()
    };
    assert_eq!(hello, expected);
    assert_eq!(read("{}"), Ok(Hello::default()));
}

// req: TR-03
#[test]
fn a_hello_that_makes_no_sense_is_refused() {
    let long = format!(r#"{{"ua":"{}"}}"#, "x".repeat(UA_BYTES_MAX + 1));
    let large = format!(r#"{{"pad":"{}"}}"#, "x".repeat(HELLO_BYTES_MAX));
    let cases = [
        "",
        "null",
        "[]",
        "[1]",
        "[\"sdk/0.1\",[1],8192]",
        "{\"ua\":1}",
        "{\"ua\":\"a\\nb\"}",
        "{\"max_frame\":8191}",
        "{\"max_frame\":-1}",
        "{\"max_inflight\":0}",
        "{\"window\":65535}",
        "{\"window\":2147483648}",
        "{\"flags\":30}",
        "{\"versions\":\"1\"}",
        &long,
        &large,
    ];
    for json in cases {
        assert_eq!(read(json), Err(Violation::HelloBad), "{json}");
    }
}

// req: TR-03
#[test]
fn what_holds_is_what_both_can() {
    let server = Hello::full("node");
    let client = Hello {
        max_frame: 10_000,
        max_inflight: 1_000,
        flags: (Flags::BASE | Flags::COMP).bits(),
        codecs: vec![Codec::Gzip, Codec::Zstd],
        ..Hello::full("client")
    };
    let agreed = server.agree(&client).unwrap();
    assert_eq!((agreed.max_frame, agreed.max_inflight), (10_000, INFLIGHT));
    assert_eq!(agreed.codec, Some(Codec::Gzip), "the client's first");
    assert!(agreed.allows(Flags::COMP) && !agreed.allows(Flags::ACK_REQ));
    assert!(client.accepts(&agreed));
    let text = serde_json::to_vec(&agreed).unwrap();
    assert_eq!(Agreed::read(&text), Ok(agreed));
}

#[test]
fn without_a_codec_in_common_nothing_is_compressed() {
    let server = Hello::full("node");
    for codecs in [vec![], vec![Codec::Zstd]] {
        let without_flag = Hello {
            codecs,
            ..Hello::default()
        };
        let agreed = server.agree(&without_flag).unwrap();
        assert_eq!((agreed.codec, agreed.allows(Flags::COMP)), (None, false));
    }
    let unknown = read(r#"{"flags":127,"codecs":["lz77","snappy"]}"#).unwrap();
    let agreed = server.agree(&unknown).unwrap();
    assert_eq!((agreed.codec, agreed.allows(Flags::COMP)), (None, false));
}

// req: TR-03
#[test]
fn versions_without_one_in_common_are_refused() {
    let other = read(r#"{"versions":[2,3]}"#).unwrap();
    let refused = Hello::full("node").agree(&other);
    assert_eq!(refused, Err(Violation::HelloVersion));
}

// req: TR-03
#[test]
fn a_client_does_not_take_more_than_it_offered() {
    let client = Hello::full("client");
    let good = Hello::full("node").agree(&client).unwrap();
    let wrong: [fn(&mut Agreed); 8] = [
        |agreed| agreed.version = 2,
        |agreed| agreed.max_frame += 1,
        |agreed| agreed.max_frame = FRAME_BYTES_MIN - 1,
        |agreed| agreed.max_inflight = 0,
        |agreed| agreed.max_inflight += 1,
        |agreed| agreed.window = WINDOW_BYTES_MIN - 1,
        |agreed| agreed.flags |= 128,
        |agreed| agreed.codec = None,
    ];
    assert!(client.accepts(&good));
    for spoil in wrong {
        let mut answer = good.clone();
        spoil(&mut answer);
        assert!(!client.accepts(&answer), "{answer:?}");
    }
}
