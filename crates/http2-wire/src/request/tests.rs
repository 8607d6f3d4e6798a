//! Which heads are requests, and that no head, however unfit, spoils those behind it.

use http::header::{COOKIE, HOST};
use proptest::prelude::*;

use super::*;

mod lists;

type Said<'a> = (&'a str, &'a str);

/// A field that nobody is asked to remember.
const FORGET: u8 = 0;

const GET: [Said<'_>; 4] = [
    (":method", "GET"),
    (":scheme", "https"),
    (":authority", "a"),
    (":path", "/"),
];
const MOST: usize = 16 * 1024;

fn string(out: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        short @ ..127 => out.push(short as u8),
        length => {
            let mut left = length - 127;
            out.push(127);
            while left >= 128 {
                out.push((left % 128 + 128) as u8);
                left /= 128;
            }
            out.push(left as u8);
        }
    }
    out.extend_from_slice(text);
}

fn packed(kind: u8, fields: &[Said<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(kind);
        string(&mut out, name.as_bytes());
        string(&mut out, value.as_bytes());
    }
    out
}

fn reader() -> HeadReader {
    HeadReader::new(MOST)
}

fn read(reader: &mut HeadReader, fields: &[Said<'_>]) -> Result<Request, Unfit> {
    let block = packed(FORGET, fields);
    reader.request(&block, HeaderMap::new()).unwrap()
}

fn request(fields: &[Said<'_>]) -> Result<Request, Unfit> {
    read(&mut reader(), fields)
}

/// A good request with more behind it.
fn with<'a>(more: &[Said<'a>]) -> Vec<Said<'a>> {
    [&GET[..], more].concat()
}

#[track_caller]
fn is_malformed(fields: &[Said<'_>]) {
    let read = request(fields);
    assert_eq!(read.map(|_| ()), Err(Unfit::Malformed), "{fields:?}");
}

#[test]
fn a_request_is_what_its_fields_say_in_whatever_order_the_first_four_come() {
    for turn in 0..4 {
        let mut fields = GET;
        fields.rotate_left(turn);
        let more = [("x-b", "2"), ("host", "b"), ("x-a", "1"), ("x-b", "")];
        let request = request(&[&fields[..], &more].concat()).unwrap();
        assert_eq!(request.method, Method::GET);
        assert_eq!(request.uri, "https://a/");
        assert_eq!(request.length, None);
        let fields = &request.headers;
        assert_eq!(
            (fields.len(), &fields[HOST], &fields["x-a"]),
            (4, &"b".parse().unwrap(), &"1".parse().unwrap())
        );
        let twice: Vec<_> = fields.get_all("x-b").iter().collect();
        assert_eq!(twice, ["2", ""]);
    }
}

// attack: B-17
#[test]
fn each_of_the_first_four_is_said_once_and_before_all_others() {
    for (name, value) in GET {
        for again in [value, "/other"] {
            is_malformed(&with(&[(name, again)]));
        }
        let late: Vec<_> = GET.into_iter().filter(|field| field.0 != name).collect();
        is_malformed(&[&late[..], &[("x-a", "1"), (name, value)]].concat());
        if name != ":authority" {
            is_malformed(&late);
        }
    }
    is_malformed(&[]);
    is_malformed(&[("x-a", "1")]);
}

#[test]
fn a_pseudo_field_of_something_else_is_none_of_a_request() {
    for name in [":status", ":protocol", ":foo", ":", ":Method", ": path"] {
        is_malformed(&with(&[(name, "200")]));
        is_malformed(&[&[(name, "200")], &GET[..]].concat());
    }
}

// attack: B-19
#[test]
fn names_and_values_that_http_1_could_not_say_are_refused() {
    for name in [
        "", "X-A", "x a", "x\ra", "x\na", "x\0a", "x:a", "x\"a", "\u{e4}",
    ] {
        is_malformed(&with(&[(name, "1")]));
    }
    for value in [
        "a\rb",
        "a\nb",
        "a\r\nx: y",
        "a\0b",
        " a",
        "a ",
        "\ta",
        "a\t",
        "\u{7f}",
    ] {
        is_malformed(&with(&[("x-a", value)]));
    }
    for value in ["", "a b", "a\tb", "\u{e4}", "\"a\""] {
        assert!(request(&with(&[("x-a", value)])).is_ok(), "{value:?}");
    }
}

// attack: B-18
#[test]
fn what_is_about_a_connection_of_http_1_is_refused() {
    for (name, value) in [
        ("connection", "close"),
        ("connection", ""),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
    ] {
        is_malformed(&with(&[(name, value)]));
        let block = packed(FORGET, &[(name, value)]);
        let trailers = reader().trailers(&block).unwrap();
        assert_eq!(trailers, Err(Unfit::Malformed), "{name}");
    }
}

// attack: B-18
#[test]
fn te_says_trailers_and_nothing_else() {
    for value in ["trailers", "Trailers", "TRAILERS"] {
        assert!(request(&with(&[("te", value)])).is_ok());
    }
    for value in [
        "",
        "gzip",
        "trailers, gzip",
        "trailers;q=1",
        "trailers,",
        "trailer",
    ] {
        is_malformed(&with(&[("te", value)]));
    }
    is_malformed(&with(&[("te", "trailers"), ("te", "gzip")]));
}

#[test]
fn a_target_is_put_together_of_what_was_said() {
    let cases = [
        (
            "GET",
            "https",
            Some("a.example:8443"),
            "/x/y?z=%20",
            "https://a.example:8443/x/y?z=%20",
        ),
        ("GET", "http", Some("[::1]:80"), "/?", "http://[::1]:80/?"),
        (
            "QUERY",
            "http",
            Some("127.0.0.1"),
            "//x",
            "http://127.0.0.1//x",
        ),
        ("GET", "ws+x", Some("a"), "/", "ws+x://a/"),
        // Nobody to ask: only what.
        ("POST", "https", None, "/x?y", "/x?y"),
        ("OPTIONS", "https", None, "*", "*"),
        ("OPTIONS", "https", Some("a"), "/", "https://a/"),
    ];
    for (method, scheme, authority, path, uri) in cases {
        let mut fields = vec![(":method", method), (":scheme", scheme), (":path", path)];
        fields.extend(authority.map(|authority| (":authority", authority)));
        let request = request(&fields).unwrap_or_else(|unfit| panic!("{fields:?}: {unfit:?}"));
        assert_eq!(
            (request.method.as_str(), request.uri.to_string()),
            (method, uri.to_owned())
        );
        assert_eq!(request.uri.authority().map(|said| said.as_str()), authority);
        assert_eq!(request.uri.scheme_str(), authority.map(|_| scheme));
    }
}

#[test]
fn everything_is_asked_for_by_options_alone_and_of_somebody_too() {
    let of = |method, authority| {
        let fields = [
            (":method", method),
            (":scheme", "http"),
            (":authority", authority),
            (":path", "*"),
        ];
        request(&fields)
    };
    let request = of("OPTIONS", "a").unwrap();
    assert_eq!((request.uri.path(), request.uri.host()), ("*", Some("a")));
    for method in ["GET", "POST", "options", "OPTIONSX"] {
        assert_eq!(of(method, "a").map(|_| ()), Err(Unfit::Malformed));
    }
}

#[test]
fn what_is_no_part_of_a_target_makes_none() {
    let cases: [(&str, &[&str]); 4] = [
        (":method", &["", "G T", "GET\r", "GET ", "G:T", "\u{e4}"]),
        (
            ":scheme",
            &["", "ht tp", "http:", "http://", "\u{e4}", "a/b"],
        ),
        (
            ":authority",
            &[
                "", "a b", "a/b", "a?b", "a#b", "a\r\n", "[::1", "a:b:c", "\u{0}",
            ],
        ),
        (
            ":path",
            &[
                "",
                "x",
                "?x",
                "http://a/",
                "*",
                "/a b",
                "/a\r\n",
                "/\0",
                "/\u{7f}",
                "*/",
            ],
        ),
    ];
    for (name, values) in cases {
        for value in values {
            let mut fields = GET;
            for field in &mut fields {
                if field.0 == name {
                    field.1 = value;
                }
            }
            is_malformed(&fields);
        }
    }
}

#[test]
fn connect_asks_for_somebody_and_for_nothing() {
    let connect = [(":method", "CONNECT"), (":authority", "a:443")];
    let request = request(&connect).unwrap();
    assert_eq!(request.method, Method::CONNECT);
    assert_eq!(request.uri, "a:443");
    assert_eq!(request.uri.scheme(), None);
    is_malformed(&connect[..1]);
    is_malformed(&[connect[0], connect[1], (":path", "/")]);
    is_malformed(&[connect[0], connect[1], (":scheme", "https")]);
    is_malformed(&[connect[0], (":scheme", "https"), (":path", "/")]);
}

#[test]
fn a_length_is_one_number_said_once() {
    for (value, length) in [
        ("0", 0),
        ("00", 0),
        ("007", 7),
        ("1234567890", 1_234_567_890),
        ("18446744073709551615", u64::MAX),
    ] {
        let request = request(&with(&[("content-length", value)])).unwrap();
        assert_eq!(request.length, Some(length));
    }
    for value in [
        "",
        "+1",
        "-1",
        "0x1",
        "1.0",
        "1e3",
        "1 1",
        "1,1",
        "1, 1",
        "a",
        "18446744073709551616",
        "99999999999999999999",
        "\u{661}",
        "/",
        ":",
    ] {
        is_malformed(&with(&[("content-length", value)]));
    }
    for again in ["5", "6", ""] {
        is_malformed(&with(&[("content-length", "5"), ("content-length", again)]));
    }
}

#[test]
fn crumbs_of_cookies_are_kept_in_their_order() {
    let request = request(&with(&[("cookie", "a=1"), ("x-a", ""), ("cookie", "b=2")])).unwrap();
    let crumbs: Vec<_> = request.headers.get_all(COOKIE).iter().collect();
    assert_eq!(crumbs, ["a=1", "b=2"]);
}

#[test]
fn whom_a_request_is_for_is_read_once_for_many_and_anew_for_another() {
    let mut reader = reader();
    let mut of = |authority| {
        let fields = [GET[0], GET[1], (":authority", authority), GET[3]];
        let request = read(&mut reader, &fields)?;
        Ok(request.uri.into_parts().authority.unwrap())
    };
    let first = of("a.example").unwrap();
    let again = of("a.example").unwrap();
    assert_eq!(again.as_str().as_ptr(), first.as_str().as_ptr());
    assert_eq!(of("b.example").unwrap(), "b.example");
    assert_eq!(of("a.example:1").unwrap(), "a.example:1");
    assert_eq!(of("a.exampl").unwrap(), "a.exampl");
    for _ in 0..2 {
        assert_eq!(of("a b"), Err(Unfit::Malformed));
    }
    assert_eq!(of("a.exampl").unwrap(), "a.exampl");
    assert_eq!(of("A.EXAMPL").unwrap().as_str(), "A.EXAMPL", "as said");
    // Nobody is not whoever was before.
    let nobody = [GET[0], GET[1], GET[3]];
    assert_eq!(read(&mut reader, &nobody).unwrap().uri, "/");
}

#[test]
fn trailers_are_fields_and_none_of_the_first_four() {
    let trailers = |fields: &[Said<'_>]| reader().trailers(&packed(FORGET, fields)).unwrap();
    assert_eq!(trailers(&[]), Ok(HeaderMap::new()));
    let read = trailers(&[("grpc-status", "0"), ("x-a", "1"), ("x-a", "2")]).unwrap();
    assert_eq!(
        (read.len(), &read["grpc-status"]),
        (3, &"0".parse().unwrap())
    );
    for pseudo in GET.into_iter().chain([(":status", "200"), (":foo", "")]) {
        assert_eq!(trailers(&[pseudo]), Err(Unfit::Malformed), "{pseudo:?}");
        assert_eq!(trailers(&[("x-a", "1"), pseudo]), Err(Unfit::Malformed));
    }
    assert_eq!(trailers(&[("X-A", "1")]), Err(Unfit::Malformed));
}

proptest! {
    #[test]
    fn a_number_is_read_as_it_is_written(number in any::<u64>(), zeros in 0_usize..5) {
        let digits = format!("{}{number}", "0".repeat(zeros));
        prop_assert_eq!(read_number(digits.as_bytes()), Some(number));
        prop_assert_eq!(read_number(format!("{}0", u64::MAX / 10 + 1 + number / 10).as_bytes()), None);
    }

    #[test]
    fn bytes_without_any_meaning_are_a_request_or_unfit_or_broken(
        blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..6),
    ) {
        let mut reader = HeadReader::new(200);
        for block in blocks {
            let Ok(read) = reader.request(&block, HeaderMap::new()) else { break };
            let bytes = |fields: &HeaderMap| {
                fields.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum::<usize>()
            };
            prop_assert!(read.is_err() || read.is_ok_and(|request| bytes(&request.headers) <= 200));
        }
    }
}

// attack: B-19
#[test]
fn a_path_has_no_fragment_and_nothing_unreadable_in_one() {
    for path in ["/a#b", "/a?b#c", "/a#\r\nx: y", "/a#\0"] {
        is_malformed(&[GET[0], GET[1], GET[2], (":path", path)]);
    }
}
