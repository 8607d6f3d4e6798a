use super::*;
use crate::load::{Sources, load};
use crate::sample::Node;

fn with_env(pairs: &[(&str, &str)]) -> Result<Node, String> {
    let env = pairs
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let sources = Sources {
        env,
        ..Sources::default()
    };
    load(&sources)
        .map(|loaded| loaded.text)
        .map_err(|mistakes| mistakes.to_string())
}

fn with_sets(sets: &[&str]) -> Result<Node, String> {
    let sets = sets.iter().map(|set| (*set).into()).collect();
    let sources = Sources {
        sets,
        ..Sources::default()
    };
    load(&sources)
        .map(|loaded| loaded.text)
        .map_err(|mistakes| mistakes.to_string())
}

// req: KN-13
#[test]
fn names_with_single_underscores_belong_to_others() {
    let others = [
        ("MACRONODE_PORT", "tcp://10.0.0.1"),
        ("MACRONODE_CONFIG", "x"),
        ("MACRONODE", ""),
    ];
    assert_eq!(with_env(&others).unwrap(), Node::default());
}

// req: KN-13
#[test]
fn an_unknown_variable_is_a_mistake_with_a_guess() {
    let report = with_env(&[("MACRONODE__DRAIN__DEADLINE_M", "1")]).unwrap_err();
    let expected = "environment MACRONODE__DRAIN__DEADLINE_M: drain.deadline_m: is not a known key; \
                    did you mean `deadline_ms`?";
    assert_eq!(report, expected);
    for name in [
        "MACRONODE__",
        "MACRONODE__DRAIN__",
        "MACRONODE__NAME__X",
        "MACRONODE__name",
    ] {
        assert!(with_env(&[(name, "1")]).is_err(), "{name}");
    }
}

// req: KN-13
#[test]
fn a_variable_in_small_letters_is_told_that_it_needs_capitals() {
    for name in ["MACRONODE__drain__huge", "MACRONODE__DRAIN__Huge"] {
        let expected = format!(
            "environment {name}: drain.huge: variables are named in capitals; write it as \
             `MACRONODE__DRAIN__HUGE`"
        );
        assert_eq!(with_env(&[(name, "9")]).unwrap_err(), expected);
    }
    let report = with_env(&[("MACRONODE__drain__hoge", "9")]).unwrap_err();
    let expected =
        "environment MACRONODE__drain__hoge: drain.hoge: is not a known key; did you mean `huge`?";
    assert_eq!(report, expected, "what would be wrong in capitals too");
}

#[test]
fn text_needs_no_quotes_and_may_have_them() {
    for (given, expected) in [
        ("a b", "a b"),
        ("\"a b\"", "a b"),
        ("17", "17"),
        ("true", "true"),
        ("'a", "'a"),
    ] {
        assert_eq!(
            with_env(&[("MACRONODE__NAME", given)]).unwrap().name,
            expected
        );
        assert_eq!(
            with_sets(&[&format!("name={given}")]).unwrap().name,
            expected
        );
    }
}

#[test]
fn other_values_are_written_as_in_a_file() {
    let node = with_sets(&[
        "drain.huge = 0xff",
        "trusted=[\"a\", \"b\"]",
        "upstreams.\"a.b\".servers=[\"127.0.0.1:1\"]",
        "admin={ writable = true }",
    ]);
    let node = node.unwrap();
    assert_eq!((node.drain.huge, node.trusted.len()), (255, 2));
    assert!(node.upstreams.contains_key("a.b") && node.admin.unwrap().writable);
}

#[test]
fn what_is_no_value_of_the_kind_is_refused() {
    for set in [
        "drain.huge=",
        "drain.huge=x",
        "drain.huge=1 2",
        "drain.huge=1\nname=2",
        "admin.writable=yes",
    ] {
        assert!(with_sets(&[set]).is_err(), "{set}");
    }
}

#[test]
fn entries_of_maps_are_named_in_lower_case_by_variables() {
    let node = with_env(&[("MACRONODE__UPSTREAMS__API__SERVERS", "[\"127.0.0.1:1\"]")]);
    assert!(node.unwrap().upstreams.contains_key("api"));
}

#[test]
fn a_section_is_laid_down_before_its_keys() {
    let pairs = [
        ("MACRONODE__DRAIN__HUGE", "2"),
        ("MACRONODE__DRAIN", "{ huge = 1, deep = 1 }"),
    ];
    let drain = with_env(&pairs).unwrap().drain;
    assert_eq!((drain.huge, drain.deep), (2, 1));
}

#[test]
fn an_item_of_a_list_cannot_be_set_alone() {
    assert!(
        with_sets(&["trusted.0=a"])
            .unwrap_err()
            .contains("set the whole list")
    );
}

#[test]
fn a_value_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let env = vec![("MACRONODE__NAME".into(), OsString::from_vec(vec![0xff]))];
    let report = load::<Node>(&Sources {
        env,
        ..Sources::default()
    })
    .unwrap_err();
    assert_eq!(
        report.to_string(),
        "environment MACRONODE__NAME: is not UTF-8 text"
    );
}
