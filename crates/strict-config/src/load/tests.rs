use super::*;
use crate::mistake::Mistake;
use crate::sample::{Log, Node};

pub(super) fn sources(text: &str) -> Sources {
    Sources {
        file: Some(SourceFile::new("node.toml", text)),
        ..Sources::default()
    }
}

fn refused(sources: &Sources) -> Mistakes {
    load::<Node>(sources).expect_err("has mistakes")
}

/// Line, column, key and complaint of each mistake in a file.
fn lines(text: &str) -> Vec<(usize, usize, String, String)> {
    let line = |mistake: &Mistake| match &mistake.origin {
        Origin::File { line, column, .. } => {
            (*line, *column, mistake.key.clone(), mistake.what.clone())
        }
        other => panic!("not in the file: {other}"),
    };
    refused(&sources(text)).iter().map(line).collect()
}

fn row(line: usize, column: usize, key: &str, what: &str) -> (usize, usize, String, String) {
    (line, column, key.into(), what.into())
}

pub(super) fn env(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

#[test]
fn an_empty_file_is_the_defaults() {
    assert_eq!(load::<Node>(&sources("")).unwrap().text, Node::default());
    assert_eq!(
        load::<Node>(&Sources::default()).unwrap().text,
        Node::default()
    );
}

// req: KN-14
#[test]
fn what_is_loaded_again_is_judged_and_compared_as_at_first() {
    let first = load::<Node>(&sources("name = \"a\"")).unwrap();
    let again = first.loader();
    let next = again.load(&sources("name = \"b\"")).unwrap();
    let changes = first.diff(&next);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].key, "name");
    let wrong = sources("nmae = 2\n");
    let mistakes = again.load(&wrong).expect_err("has mistakes");
    assert_eq!(mistakes.to_string(), refused(&wrong).to_string());
}

// req: KN-13
// attack: I-02, I-03
#[test]
fn every_kind_of_mistake_is_reported_at_once_with_its_place() {
    let text = r#"
name = ""
colour = 1
trusted = ["a", "b", "c", "d"]
[drain]
deadline_ms = -5
deadlien_ms = 3
huge = 18446744073709551616
[admin]
listen = "nowhere"
log = "json-line"
writable = 1
[upstreams.api]
servers = ["127.0.0.1:80", "b", "c"]
share = nan
[[routes]]
prefix = "/"
upstream = "api"
weight = 0
[[routes]]
prefix = 7
"#;
    assert_eq!(
        lines(text),
        [
            row(2, 8, "name", "too short"),
            row(3, 1, "colour", "is not a known key"),
            row(4, 11, "trusted", "has 4 items"),
            row(6, 15, "drain.deadline_ms", "out of range"),
            row(7, 1, "drain.deadlien_ms", "is not a known key"),
            row(8, 8, "drain.huge", "out of range"),
            row(10, 10, "admin.listen", "invalid socket address syntax"),
            row(
                11,
                7,
                "admin.log",
                "is none of the choices (did you mean `json-lines`?)"
            ),
            row(
                12,
                12,
                "admin.writable",
                "expected a boolean, found an integer"
            ),
            row(
                14,
                28,
                "upstreams.api.servers[1]",
                "invalid socket address syntax"
            ),
            row(
                14,
                33,
                "upstreams.api.servers[2]",
                "invalid socket address syntax"
            ),
            row(15, 9, "upstreams.api.share", "is not a finite number"),
            row(19, 10, "routes[0].weight", "out of range"),
            row(
                21,
                10,
                "routes[1].prefix",
                "expected a string, found an integer"
            ),
        ]
    );
}

// req: KN-13
#[test]
fn contradictions_are_reported_beside_other_mistakes() {
    let text = "[drain]\naccept_grace_ms = 9\ndeadline_ms = 5\nhuge = \"x\"\n";
    let expected = [
        row(
            2,
            19,
            "drain.accept_grace_ms",
            "the grace is longer than the whole drain",
        ),
        row(4, 8, "drain.huge", "expected an integer, found a string"),
    ];
    assert_eq!(lines(text), expected);
}

#[test]
fn a_contradiction_with_a_value_already_refused_is_not_reported() {
    let text = "[drain]\naccept_grace_ms = 9000\ndeadline_ms = -5\n";
    assert_eq!(
        lines(text),
        [row(3, 15, "drain.deadline_ms", "out of range")]
    );
}

#[test]
fn a_contradiction_in_a_list_is_placed_at_its_item() {
    let text = "[[routes]]\nprefix = \"/\"\nupstream = \"gone\"\n";
    assert_eq!(
        lines(text),
        [row(3, 12, "routes[0].upstream", "names no upstream")]
    );
}

#[test]
fn a_contradiction_is_never_placed_at_the_item_after_one_taken_out() {
    let text = "[[routes]]\nprefix = 1\n[[routes]]\nprefix = \"/\"\nupstream = \"gone\"\n";
    let expected = [row(
        2,
        10,
        "routes[0].prefix",
        "expected a string, found an integer",
    )];
    assert_eq!(lines(text), expected);
}

#[test]
fn a_section_of_the_wrong_type_is_one_mistake() {
    let expected = [row(1, 9, "drain", "expected a table, found an integer")];
    assert_eq!(lines("drain = 5\n"), expected);
}

#[test]
fn a_missing_required_key_is_placed_at_its_table() {
    let text = "[[routes]]\nupstream = \"a\"\n[upstreams.a]\n";
    let expected = [
        row(1, 1, "routes[0].prefix", "is required and missing"),
        row(3, 1, "upstreams.a.servers", "is required and missing"),
    ];
    assert_eq!(lines(text), expected);
}

#[test]
fn a_bad_required_key_is_not_also_missing() {
    let text = "[[routes]]\nupstream = \"a\"\nprefix = 3\n";
    let expected = [row(
        3,
        10,
        "routes[0].prefix",
        "expected a string, found an integer",
    )];
    assert_eq!(lines(text), expected);
}

// attack: I-01
#[test]
fn all_syntax_errors_and_what_stands_before_them_are_reported() {
    let found = lines("colour = 1\nname = \n[drain]\ndeadline_ms = = 4\nhuge = -1\n");
    let places: Vec<_> = found
        .iter()
        .map(|(line, _, key, _)| (*line, key.as_str()))
        .collect();
    assert_eq!(places, [(1, "colour"), (2, ""), (4, "")]);
}

// attack: I-01
#[test]
fn duplicate_keys_and_tables_are_refused() {
    assert_eq!(
        lines("name = \"a\"\nname = \"b\"\n"),
        [row(2, 1, "", "duplicate key")]
    );
    assert_eq!(
        lines("[drain]\n[drain]\n"),
        [row(2, 2, "", "duplicate key")]
    );
}

// attack: I-04
#[test]
fn a_half_written_file_is_refused_at_whatever_byte_it_ends_inside_a_value() {
    let whole = "name = \"gateway\"\n[drain]\ndeadline_ms = [1";
    assert_eq!(lines(whole).len(), 1);
    for end in 5.."name = \"gateway\"".len() {
        assert!(
            load::<Node>(&sources(&whole[..end])).is_err(),
            "{:?}",
            &whole[..end]
        );
    }
}

#[test]
fn numbers_reach_from_the_smallest_to_the_largest() {
    let text = "[drain]\nhuge = 18446744073709551615\ndeep = -9223372036854775808\n";
    let drain = load::<Node>(&sources(text)).unwrap().text.drain;
    assert_eq!((drain.huge, drain.deep), (u64::MAX, i64::MIN));
    let far = format!(
        "[drain]\nhuge = {}\ndeep = -{}\n",
        "9".repeat(60),
        "9".repeat(60)
    );
    assert_eq!(lines(&far).len(), 2);
}

// attack: I-03
#[test]
fn not_a_number_and_infinity_are_refused() {
    for word in ["nan", "inf", "-inf", "1e999", "-0.1", "2"] {
        let text = format!("[upstreams.a]\nservers = [\"127.0.0.1:1\"]\nshare = {word}\n");
        assert_eq!(lines(&text)[0].2, "upstreams.a.share", "{word}");
    }
}

// req: KN-13
#[test]
fn flags_win_over_environment_over_file_over_defaults() {
    let mut sources = sources("name = \"file\"\n[drain]\ndeadline_ms = 1\naccept_grace_ms = 1\n");
    let from = |sources: &Sources| load::<Node>(sources).unwrap().text;
    assert_eq!(from(&sources).name, "file");
    sources.env = env(&[
        ("MACRONODE__NAME", "env"),
        ("MACRONODE__DRAIN__DEADLINE_MS", "2"),
    ]);
    assert_eq!(
        (from(&sources).name, from(&sources).drain.deadline_ms),
        ("env".into(), 2)
    );
    sources.sets = vec!["name=flag".into(), "name=last".into()];
    let text = from(&sources);
    assert_eq!(
        (
            text.name.as_str(),
            text.drain.deadline_ms,
            text.drain.accept_grace_ms
        ),
        ("last", 2, 1)
    );
}

#[test]
fn a_key_of_an_absent_section_brings_the_section_about() {
    let sources = Sources {
        sets: vec!["admin.log=json-lines".into()],
        ..Sources::default()
    };
    let admin = load::<Node>(&sources).unwrap().text.admin.unwrap();
    assert_eq!(admin.log, Log::JsonLines);
}

#[test]
fn origins_name_who_said_what() {
    let mut sources = sources("[drain]\nhuge = 4\n");
    sources.env = env(&[("MACRONODE__NAME", "env")]);
    sources.sets = vec!["drain.deadline_ms=7".into()];
    let loaded = load::<Node>(&sources).unwrap();
    let origin = |key: &str| loaded.origins()[key].to_string();
    assert_eq!(origin("drain.huge"), "node.toml:2:8");
    assert_eq!(origin("name"), "environment MACRONODE__NAME");
    assert_eq!(origin("drain.deadline_ms"), "--set drain.deadline_ms");
}

#[test]
fn mistakes_of_all_sources_come_in_one_report() {
    let mut sources = sources("colour = 1\n");
    sources.env = env(&[
        ("MACRONODE__NMAE", "x"),
        ("MACRONODE_PORT", "tcp://x"),
        ("PATH", "/"),
    ]);
    sources.sets = vec!["drain.huge=x".into(), "nonsense".into()];
    let report = refused(&sources);
    let origins: Vec<_> = report
        .iter()
        .map(|mistake| mistake.origin.to_string())
        .collect();
    let expected = [
        "node.toml:1:1",
        "environment MACRONODE__NMAE",
        "--set drain.huge",
        "--set (number 2)",
    ];
    assert_eq!(origins, expected);
}

#[test]
fn a_report_spells_out_a_hundred_and_counts_the_rest() {
    let text: String = (0..250).map(|n| format!("unknown_{n} = 1\n")).collect();
    let report = refused(&sources(&text));
    assert_eq!((report.iter().count(), report.more()), (100, 150));
    assert!(report.to_string().ends_with("\nand 150 more"));
}

// attack: I-09
#[test]
fn nesting_without_end_is_refused_without_recursion() {
    for text in [
        "[".repeat(100_000),
        "a=".to_owned() + &"[".repeat(100_000),
        "a={b=".repeat(50_000),
    ] {
        assert!(load::<Node>(&sources(&text)).is_err());
    }
}

// attack: I-09
#[test]
fn a_large_file_is_refused_at_its_first_syntax_error() {
    let text = "name = \"a\"\n".to_owned() + &"=\n".repeat(WRITTEN_BY_HAND);
    assert_eq!(lines(&text)[0].0, 2);
    assert_eq!(lines(&text).len(), 1);
}

// attack: I-09
#[test]
fn more_values_than_allowed_are_refused() {
    let text = format!("trusted = [{}]\n", "1,".repeat(60_000));
    assert_eq!(lines(&text)[0].3, "has more than 50000 values");
}

// attack: I-09
#[test]
fn the_deepest_tree_the_parser_builds_fits_a_small_stack() {
    let keys = vec!["a"; 79].join(".");
    let text = format!("{}1{}", format!("{keys}={{").repeat(79), "}".repeat(79));
    let text = text.replacen("1}", "a=1}", 1);
    let check = move || lines(&text)[0].3.clone();
    let small = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(check)
        .unwrap();
    assert_eq!(small.join().unwrap(), "is nested deeper than 32 levels");
}
