use serde_json::json;

use super::*;
use crate::document::Loaded;
use crate::load::{Sources, load};
use crate::read::SourceFile;
use crate::sample::Node;

fn loaded(text: &str) -> Loaded<Node> {
    let file = Some(SourceFile::new("node.toml", text));
    load(&Sources {
        file,
        ..Sources::default()
    })
    .unwrap()
}

fn diff(old: &str, new: &str) -> Vec<Change> {
    loaded(old).diff(&loaded(new))
}

fn keys(changes: &[Change]) -> Vec<(&str, Reload)> {
    changes
        .iter()
        .map(|change| (change.key.as_str(), change.reload))
        .collect()
}

#[test]
fn the_same_said_otherwise_is_no_change() {
    assert_eq!(diff("drain.deadline_ms = 3_000\n", "# nothing\n"), []);
}

// req: KN-14
#[test]
fn changed_keys_are_listed_with_both_values() {
    let changes = diff("name = \"a\"\n", "name = \"b\"\n[drain]\nhuge = 1\n");
    assert_eq!(
        keys(&changes),
        [("name", Reload::Hot), ("drain.huge", Reload::Hot)]
    );
    assert_eq!(
        (&changes[0].old, &changes[0].new),
        (&Some(json!("a")), &Some(json!("b")))
    );
}

#[test]
fn a_change_reads_as_a_line() {
    let shown = |old, new| diff(old, new)[0].to_string();
    assert_eq!(shown("", "name = \"b\"\n"), "name: \"node\" -> \"b\"");
    assert_eq!(
        shown("state_dir = \"/x\"\n", ""),
        "state_dir: \"/x\" -> nothing"
    );
    let token = |word| format!("[admin]\ntoken = \"{word}\"\n");
    assert_eq!(
        shown(&token("first"), &token("second")),
        "admin.token: changed"
    );
}

// req: KN-14
// attack: I-07
#[test]
fn what_needs_a_restart_is_named() {
    let old = "[admin]\nlog = \"human\"\n";
    let changes = diff(
        old,
        "name = \"b\"\nstate_dir = \"/x\"\n[admin]\nlog = \"json-lines\"\n",
    );
    assert_eq!(restart_needed(&changes), ["state_dir", "admin.log"]);
}

// req: KN-14
#[test]
fn a_section_that_appears_is_one_change_as_strong_as_its_strongest_key() {
    let changes = diff("", "[admin]\n");
    assert_eq!(keys(&changes), [("admin", Reload::Restart)]);
    assert_eq!(changes[0].old, None);
}

#[test]
fn entries_that_come_and_go_are_named() {
    let a = "[upstreams.a]\nservers = [\"127.0.0.1:1\"]\n";
    let b = "[upstreams.b]\nservers = [\"127.0.0.1:1\"]\n";
    assert_eq!(
        keys(&diff(a, b)),
        [("upstreams.a", Reload::Hot), ("upstreams.b", Reload::Hot)]
    );
}

// req: KN-14
#[test]
fn of_a_list_of_tables_only_what_differs_is_told() {
    let routes = |prefixes: &[&str], weight: u32| -> String {
        let route = |prefix: &&str| {
            let weight = if *prefix == "/w" { weight } else { 1 };
            format!("[[routes]]\nprefix = \"{prefix}\"\nupstream = \"a\"\nweight = {weight}\n")
        };
        let upstream = "[upstreams.a]\nservers = [\"127.0.0.1:1\"]\n";
        upstream.to_owned() + &prefixes.iter().map(route).collect::<String>()
    };
    let told = |old: &str, new: &str| -> Vec<String> {
        diff(old, new).iter().map(Change::to_string).collect()
    };
    let one = |prefix: &str| format!("{{ prefix = \"{prefix}\", upstream = \"a\", weight = 1 }}");
    let base = routes(&["/a", "/w", "/c"], 1);
    let cases = [
        (
            routes(&["/a", "/w", "/c"], 7),
            vec!["routes[1].weight: 1 -> 7".to_owned()],
        ),
        (
            routes(&["/a", "/new", "/w", "/c"], 1),
            vec![format!("routes[1]: nothing -> {}", one("/new"))],
        ),
        (
            routes(&["/a", "/c"], 1),
            vec![format!("routes[1]: {} -> nothing", one("/w"))],
        ),
        (
            routes(&["/a", "/w", "/c", "/c"], 1),
            vec![format!("routes[3]: nothing -> {}", one("/c"))],
        ),
        (
            routes(&["/w", "/a", "/c"], 1),
            vec![
                "routes[0].prefix: \"/a\" -> \"/w\"".to_owned(),
                "routes[1].prefix: \"/w\" -> \"/a\"".to_owned(),
            ],
        ),
        (
            routes(&[], 1),
            ["/a", "/w", "/c"]
                .iter()
                .enumerate()
                .map(|(index, prefix)| format!("routes[{index}]: {} -> nothing", one(prefix)))
                .collect(),
        ),
    ];
    for (new, expected) in cases {
        assert_eq!(told(&base, &new), expected);
    }
}

// req: KN-14
#[test]
fn a_changed_secret_is_seen_and_not_shown() {
    let cases = [
        ("admin.token", "[admin]\ntoken = \"@\"\n"),
        ("admin.pass_phrase", "[admin]\npass_phrase = \"@\"\n"),
        (
            "upstreams.a.keys",
            "[upstreams.a]\nservers = [\"127.0.0.1:1\"]\nkeys = [\"@\"]\n",
        ),
    ];
    for (name, text) in cases {
        let text = |word| text.replace('@', word);
        let changes = diff(&text("first"), &text("second"));
        assert_eq!(changes.len(), 1, "{name}");
        assert_eq!(changes[0].key, name);
        let shown = format!("{changes:?} {}", changes[0]);
        assert!(
            !shown.contains("first") && !shown.contains("second"),
            "{shown}"
        );
        assert_eq!(diff(&text("same"), &text("same")), []);
    }
}
