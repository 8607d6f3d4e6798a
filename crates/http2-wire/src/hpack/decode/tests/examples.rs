//! The examples of RFC 7541, Appendix C.

use super::super::super::coded::Said;
use super::*;

/// A block, what it says, and how much is remembered behind it.
type Example<'a> = (&'a str, &'a [(&'a str, &'a str)], usize);

fn octets(hex: &str) -> Vec<u8> {
    let octet = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(octet).collect()
}

fn follow(decoder: &mut Decoder, examples: &[Example<'_>]) {
    for (block, list, size) in examples {
        let said = |(name, value): &(&str, &str)| -> Said {
            (name.as_bytes().to_vec(), value.as_bytes().to_vec())
        };
        let expected = list.iter().map(said).map(|said| meant(&said)).collect();
        assert_eq!(decode(decoder, &octets(block)), Ok(expected), "{block}");
        let remembered = table(decoder).iter().map(|entry| entry.1).sum::<usize>();
        assert_eq!(remembered, *size, "{block}");
    }
}

#[test]
fn fields_are_those_of_the_examples() {
    let examples: [Example<'_>; 4] = [
        (
            "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
            &[("custom-key", "custom-header")],
            55,
        ),
        (
            "040c2f73616d706c652f70617468",
            &[(":path", "/sample/path")],
            0,
        ),
        (
            "100870617373776f726406736563726574",
            &[("password", "secret")],
            0,
        ),
        ("82", &[(":method", "GET")], 0),
    ];
    for example in examples {
        follow(&mut Decoder::new(), &[example]);
    }
}

const FIRST: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "www.example.com"),
];
const SECOND: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "www.example.com"),
    ("cache-control", "no-cache"),
];
const THIRD: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "https"),
    (":path", "/index.html"),
    (":authority", "www.example.com"),
    ("custom-key", "custom-value"),
];

#[test]
fn requests_are_those_of_the_examples() {
    let plain: [Example<'_>; 3] = [
        ("828684410f7777772e6578616d706c652e636f6d", FIRST, 57),
        ("828684be58086e6f2d6361636865", SECOND, 110),
        (
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
            THIRD,
            164,
        ),
    ];
    let coded: [Example<'_>; 3] = [
        ("828684418cf1e3c2e5f23a6ba0ab90f4ff", FIRST, 57),
        ("828684be5886a8eb10649cbf", SECOND, 110),
        (
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
            THIRD,
            164,
        ),
    ];
    follow(&mut Decoder::new(), &plain);
    follow(&mut Decoder::new(), &coded);
}

const COOKIE: &str = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
const ANSWERS: [&[(&str, &str)]; 3] = [
    &[
        (":status", "302"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("location", "https://www.example.com"),
    ],
    &[
        (":status", "307"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("location", "https://www.example.com"),
    ],
    &[
        (":status", "200"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
        ("location", "https://www.example.com"),
        ("content-encoding", "gzip"),
        ("set-cookie", COOKIE),
    ],
];

/// Nobody answers a server; how entries leave the table is the same.
#[test]
fn answers_are_those_of_the_examples_in_a_table_of_256() {
    let plain: [&str; 3] = [
        concat!(
            "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54",
            "6e1768747470733a2f2f7777772e6578616d706c652e636f6d",
        ),
        "4803333037c1c0bf",
        concat!(
            "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a697077",
            "38666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b20",
            "76657273696f6e3d31",
        ),
    ];
    let coded: [&str; 3] = [
        concat!(
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff",
            "6e919d29ad171863c78f0b97c8e9ae82ae43d3",
        ),
        "4883640effc1c0bf",
        concat!(
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab",
            "77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        ),
    ];
    for blocks in [plain, coded] {
        let mut decoder = Decoder::new();
        decode(&mut decoder, &octets("3fe101")).unwrap();
        for ((block, list), size) in blocks.into_iter().zip(ANSWERS).zip([222, 222, 215]) {
            follow(&mut decoder, &[(block, list, size)]);
        }
    }
}
