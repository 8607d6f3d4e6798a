use proptest::prelude::*;

use super::*;
use crate::load::{Sources, load};
use crate::sample::Node;

/// Ways to write a secret wrongly; `@` is where it stands.
const MISPLACED: &[&str] = &[
    "[admin]\ntoken = \"@\" x\n",
    "[admin]\ntoken = @\n",
    "[admin]\ntoken = \"@\n",
    "[admin]\ntoken = \"\"\"\n@\n",
    "[admin]\ntoken = \"\"\"\n@==\nx\"\"\" y\n",
    "[admin]\ntoken = [\"@\"]\n",
    "[admin]\ntoken = { a = \"@\" }\n",
    "[admin]\ntokn = \"@\"\n",
    "[admin]\ntokn = { a = '@' }\n",
    "[admin]\npass_phrase = [1, '@']\n",
    "[admin]\npass_phrase = @ = 2\n",
    "admin = \"@\"\n",
    "admin = [\"@\"]\n",
    "admin = { token = \"@\", writable = 5 }\n",
    "admin = { writable = 5, token = \"@\" \n",
    "admin.token.x = \"@\"\n",
    "adminn.token = \"@\"\n",
    "[adminn]\ntoken = \"@\"\n",
    "[admin]\ntoken = \"a\"\ntoken = \"@\"\n",
    "[upstreams.a]\nkeys = \"@\"\n",
    "[upstreams.a]\nkeys = [\"x\", \"@\", 7]\n",
    "[upstreams.a]\nkeys = [\n\"x\",\n  @,\n 7]\n",
    "upstreams = [\"@\"]\n",
    "[[upstreams]]\nkeys = [\"@\"]\n",
];

fn reports(secret: &str) -> Vec<String> {
    let files = MISPLACED.iter().map(|text| Sources {
        file: Some(SourceFile::new("node.toml", text.replace('@', secret))),
        ..Sources::default()
    });
    let env = ["ADMIN", "ADMIN__TOKEN", "ADMIN__TOKN", "UPSTREAMS__A__KEYS"].map(|name| Sources {
        env: vec![(
            format!("MACRONODE__{name}").into(),
            format!("{{ x = '{secret}' }}{}", "x".repeat(70)).into(),
        )],
        ..Sources::default()
    });
    let sets = [
        "admin.token@",
        "admin=@",
        "admin={token='@', writable=5}",
        "upstreams.a.keys=@",
        "admin.tokn=@",
    ]
    .map(|set| Sources {
        sets: vec![set.replace('@', secret)],
        ..Sources::default()
    });
    let refuse = |sources: Sources| match load::<Node>(&sources) {
        Ok(loaded) => panic!("accepted: {loaded:?}"),
        Err(mistakes) => format!("{mistakes}\n{mistakes:?}"),
    };
    files.chain(env).chain(sets).map(refuse).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // req: KN-13
    #[test]
    fn no_report_repeats_a_secret(secret in "[A-Z][a-zA-Z0-9+/]{9,20}") {
        for report in reports(&secret) {
            prop_assert!(!report.contains(&secret), "{report}");
        }
    }
}

#[test]
fn a_key_taints_what_is_above_and_below_it_and_its_whole_list() {
    let mut findings = Findings::default();
    findings.add(Finding::new(Place::Default, "a.routes[1].prefix", "x"));
    for tainted in ["a", "a.routes", "a.routes[1]", "a.routes[0].prefix"] {
        assert!(findings.taints(tainted), "{tainted}");
    }
    for clean in ["a.route", "a.routes_more", "b", "a.x"] {
        assert!(!findings.taints(clean), "{clean}");
    }
}

#[test]
fn what_is_found_without_end_is_counted_not_kept() {
    let mut findings = Findings::default();
    for n in 0..5 * KEPT {
        findings.add(Finding::new(Place::Default, n.to_string(), "x"));
    }
    assert_eq!(findings.list.len(), KEPT);
    let mistakes = findings.into_mistakes(None, &Shape::of::<Node>()).unwrap();
    assert_eq!(mistakes.more() + mistakes.iter().count(), 5 * KEPT);
}
