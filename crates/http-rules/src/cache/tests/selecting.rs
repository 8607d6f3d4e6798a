use super::*;

fn same(vary: &str, one: &[(&str, &str)], other: &[(&str, &str)]) -> bool {
    let varies = Varies::of(&map(&[("vary", vary)])).unwrap();
    varies.select(&map(one)) == varies.select(&map(other))
}

// req: ED-05
// attack: L-10
#[test]
fn a_star_anywhere_selects_nothing_ever() {
    for lines in [
        &["*"] as &[&str],
        &["*, *"],
        &["", "*"],
        &[", *"],
        &["Foo, *"],
        &["*, Foo"],
        &["foo bar"],
    ] {
        let lines: Vec<_> = lines.iter().map(|line| ("vary", *line)).collect();
        assert_eq!(Varies::of(&map(&lines)), None, "{lines:?}");
    }
    let many: String = (0..17).map(|index| format!("x{index},")).collect();
    assert_eq!(Varies::of(&map(&[("vary", &many)])), None);
    assert_eq!(
        Varies::of(&map(&[("vary", "B, a"), ("vary", "b")]))
            .unwrap()
            .names(),
        ["a", "b"]
    );
}

// req: ED-05
#[test]
fn only_the_named_headers_select_and_absence_is_a_value() {
    assert!(same(
        "foo",
        &[("foo", "1"), ("other", "2")],
        &[("foo", "1")]
    ));
    assert!(!same("foo", &[("foo", "1")], &[("foo", "2")]));
    assert!(!same("foo", &[("foo", "1")], &[]));
    assert!(!same("foo", &[("foo", "")], &[]));
    assert!(same("foo, bar", &[("bar", "2")], &[("bar", "2")]));
    assert!(!same(
        "foo, bar",
        &[("foo", "1\tbar=2")],
        &[("foo", "1"), ("bar", "2")]
    ));
}

// req: ED-05
#[test]
fn requests_that_mean_the_same_select_the_same() {
    assert!(same(
        "foo",
        &[("foo", "1, 2")],
        &[("foo", "1"), ("foo", "2")]
    ));
    assert!(same("foo", &[("foo", "1,2")], &[("foo", " 1, 2 ")]));
    assert!(!same("foo", &[("foo", "1,2")], &[("foo", "2,1")]));
    assert!(!same("foo", &[("foo", "a")], &[("foo", "A")]));
    assert!(!same("foo", &[("foo", "\"1, 2\"")], &[("foo", "\"1,2\"")]));
    assert!(same("foo", &[("foo", "\"a\",b")], &[("foo", "\"a\" ,, b")]));
    let accept = |one, other| same("accept", &[("accept", one)], &[("accept", other)]);
    assert!(accept("Text/HTML, a/b;Q=0.5", "a/b ; q=0.5,text/html"));
    assert!(!accept("a/b;profile=\"X\"", "a/b;profile=\"x\""));
    assert!(!accept("a/b;q=0.5;level=1", "a/b;level=1"));
    let language = |one, other| {
        same(
            "accept-language",
            &[("accept-language", one)],
            &[("accept-language", other)],
        )
    };
    assert!(language("en, de", "de, en"));
    assert!(language("en, de", "eN, De"));
    assert!(language("en, de", " en ,   de"));
    assert!(language("en;q=0.5, de", "de;q=1.0,en ; q=0.500"));
    assert!(!language("en;q=0.5, de", "en, de"));
    assert!(!language("en;q=0.5, de", "en, de;q=0.5"));
    assert!(!language("en;q=bad", "en"));
}

// req: ED-05
#[test]
fn a_response_in_the_language_wanted_most_will_do() {
    let varies = Varies::of(&map(&[("vary", "accept-language")])).unwrap();
    let kept = varies.select(&map(&[("accept-language", "en, de")]));
    let german = map(&[("content-language", "de")]);
    let answers =
        |wanted: &str| varies.answers(&kept, &german, &map(&[("accept-language", wanted)]));
    assert!(answers("fr;q=0.5, DE;q=1.0"));
    assert!(!answers("fr, de"));
    assert!(!answers("de-at"));
    assert!(!answers("fr, de;q=0.9"));
    assert!(!answers("de;q=0"));
    let both = Varies::of(&map(&[("vary", "accept-language, foo")])).unwrap();
    let kept = both.select(&map(&[("accept-language", "en, de")]));
    assert!(!both.answers(&kept, &german, &map(&[("accept-language", "de")])));
}
