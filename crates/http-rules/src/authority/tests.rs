use super::*;

fn host(text: &str) -> Option<(String, Option<u16>)> {
    Authority::parse(text).map(|read| (read.host.into_owned(), read.port))
}

// req: GW-14
#[test]
fn a_name_an_address_and_a_port_are_read() {
    assert_eq!(host("example.com"), Some(("example.com".into(), None)));
    assert_eq!(host("a:8080"), Some(("a".into(), Some(8080))));
    assert_eq!(host("127.0.0.1:1"), Some(("127.0.0.1".into(), Some(1))));
    assert_eq!(host("[::1]:443"), Some(("[::1]".into(), Some(443))));
    assert_eq!(host("[2001:DB8::1]"), Some(("[2001:db8::1]".into(), None)));
    assert_eq!(
        host("my_service.local"),
        Some(("my_service.local".into(), None))
    );
}

#[test]
fn capitals_and_a_last_dot_do_not_make_another_host() {
    assert_eq!(host("ExAmple.COM."), Some(("example.com".into(), None)));
    let read = Authority::parse("Example.com:80").unwrap();
    assert_eq!(read.text, "Example.com:80");
}

// req: GW-14
#[test]
fn an_address_has_one_spelling_however_it_is_written() {
    for (text, same) in [
        ("[0:0:0:0:0:0:0:1]", "[::1]"),
        ("[0000::0001]", "[::1]"),
        ("[::]", "[::]"),
        ("[2001:0DB8:0::0:7]", "[2001:db8::7]"),
        ("[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]"),
        ("[::FFFF:7f00:1]", "[::ffff:127.0.0.1]"),
        ("[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]"),
    ] {
        let read = Authority::parse(text).unwrap();
        assert_eq!((&*read.host, read.text), (same, text));
        let again = Authority::parse(same).unwrap();
        assert!(read.same(&again, None), "{text}");
    }
}

#[test]
fn a_lower_case_host_is_not_copied() {
    let read = Authority::parse("example.com:80").unwrap();
    assert!(matches!(read.host, Cow::Borrowed(_)));
}

// attack
#[test]
fn what_two_readers_could_read_differently_is_refused() {
    let odd = [
        "",
        ".",
        "..",
        ".a",
        "a..b",
        "a..",
        "a,b",
        "a, b",
        "a b",
        " a",
        "a ",
        "a\t",
        "u@h",
        "u:p@h",
        "a/b",
        "a?b",
        "a#b",
        "a\\b",
        "a%41",
        "a%00",
        "a:",
        "a:0",
        "a:65536",
        "a:+80",
        "a:8a",
        "a:-1",
        "a:80:80",
        "a:080000",
        ":80",
        "[::1",
        "::1",
        "[::1]80",
        "[::1]:",
        "[]",
        "[a]",
        "[::1%25eth0]",
        "[127.0.0.1]",
        "é.com",
        "a;b",
        "a'b",
        "*.a",
    ];
    for text in odd {
        assert_eq!(Authority::parse(text), None, "{text:?}");
    }
    for text in ["a".repeat(254), "a".repeat(261)] {
        assert_eq!(Authority::parse(&text), None, "{text}");
    }
    let longest = format!("{}.:65535", "a".repeat(253));
    assert!(Authority::parse(&longest).is_some());
}

#[test]
fn the_default_port_of_the_scheme_is_the_same_place() {
    let bare = Authority::parse("a").unwrap();
    let with = Authority::parse("A:80").unwrap();
    assert!(bare.same(&with, Some("http")));
    assert!(!bare.same(&with, Some("https")));
    assert!(!bare.same(&with, None));
    assert!(!bare.same(&Authority::parse("b").unwrap(), Some("http")));
}
