use super::*;

fn tags(line: &str) -> Vec<Option<(bool, String)>> {
    let text = |tag: ETag<'_>| (tag.weak, String::from_utf8_lossy(tag.opaque).into_owned());
    list(line.as_bytes()).map(|tag| tag.map(text)).collect()
}

// req: ED-06
#[test]
fn a_tag_is_quoted_and_plain() {
    let strong = ETag::parse(b"\"a\"").unwrap();
    let weak = ETag::parse(b"W/\"a\"").unwrap();
    assert!(!strong.weak && weak.weak);
    assert!(strong.strongly_is(&strong) && !strong.strongly_is(&weak) && !weak.strongly_is(&weak));
    assert!(strong.weakly_is(&weak) && weak.weakly_is(&weak));
    assert!(ETag::parse(b"\"\"").is_some());
    for odd in [
        "", "a", "\"a", "a\"", "w/\"a\"", "W/a", "\"a b\"", "\"a\"b", "\"a\" ", "W/ \"a\"", "*",
        "\"\x7f\"",
    ] {
        assert_eq!(ETag::parse(odd.as_bytes()), None, "{odd:?}");
    }
}

#[test]
fn a_list_may_hold_commas_in_tags_and_blanks_between() {
    let two = [
        Some((false, "a,b".to_owned())),
        Some((true, "c".to_owned())),
    ];
    assert_eq!(tags("\"a,b\" , ,W/\"c\","), two);
    assert_eq!(tags(""), []);
    assert_eq!(tags(" , "), []);
}

#[test]
fn what_is_no_tag_ends_the_list() {
    assert_eq!(
        tags("\"a\", b, \"c\""),
        [Some((false, "a".to_owned())), None]
    );
    assert_eq!(tags("\"a\" \"b\""), [None]);
    assert_eq!(tags("\"a\"b"), [None]);
    assert_eq!(tags("*"), [None]);
}

// req: ED-06, ED-07
#[test]
fn each_coding_has_a_tag_of_its_own() {
    assert_eq!(strong(&[0, 0xab], None), "\"00ab\"");
    assert_eq!(strong(&[0, 0xab], Some("gzip")), "\"00ab-gzip\"");
    assert_eq!(
        strong(&[1], Some("a\"b")),
        "\"01\"",
        "what is no token is left out"
    );
    let made = strong(&[1, 2], Some("br"));
    assert!(ETag::parse(made.as_bytes()).is_some_and(|tag| !tag.weak));
}
