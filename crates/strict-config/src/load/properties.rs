//! What holds for any text, any document and any mix of sources.

use proptest::prelude::*;

use super::tests::{env, sources};
use super::*;
use crate::sample::{Node, Upstream};
use crate::toml_text::{Comments, to_toml};

fn documents() -> impl Strategy<Value = Node> {
    let drain = (0..600_000u64, any::<u64>(), any::<i64>());
    (
        ".{1,16}",
        drain,
        proptest::collection::vec(".*", 0..3),
        proptest::collection::btree_map(".*", 0.0..1.0f64, 0..3),
    )
        .prop_map(|(name, (deadline_ms, huge, deep), trusted, shares)| {
            let mut node = Node {
                name,
                trusted,
                ..Node::default()
            };
            node.drain.deadline_ms = deadline_ms;
            node.drain.huge = huge;
            node.drain.deep = deep;
            let server = ([127, 0, 0, 1], 80).into();
            node.upstreams = shares
                .into_iter()
                .map(|(name, share)| {
                    (
                        name,
                        Upstream {
                            servers: vec![server],
                            share,
                            keys: Vec::new(),
                        },
                    )
                })
                .collect();
            node
        })
}

/// Fragments that make texts more likely to get past the first character.
fn texts() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "name",
        "drain",
        "admin",
        "token",
        "deadline_ms",
        "=",
        "=",
        "\n",
        "\n",
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "\"",
        "\"\"\"",
        "'",
        ".",
        ",",
        "-5",
        "nan",
        "1e9",
        "true",
        "1979-05-27",
        "routes",
        "upstreams",
        "#",
        "\\u",
        "é",
        "\r\n",
        "\u{0}",
        "\u{feff}",
        " ",
    ]);
    prop_oneof![
        ".*",
        proptest::collection::vec(words, 0..40).prop_map(|words| words.concat())
    ]
}

proptest! {
    // req: KN-13
    #[test]
    fn any_text_is_answered_and_twice_the_same(text in texts(), set in ".*", value in ".*") {
        let mut sources = sources(&text);
        sources.sets = vec![set];
        sources.env = env(&[("MACRONODE__ADMIN__TOKEN", &value), (&format!("MACRONODE__{value}"), "1")]);
        let answer = || match load::<Node>(&sources) {
            Ok(loaded) => loaded.document().to_string(),
            Err(mistakes) => mistakes.to_string(),
        };
        prop_assert_eq!(answer(), answer());
    }

    // req: KN-13
    #[test]
    fn a_printed_document_loads_as_the_same(node in documents()) {
        let document = serde_json::to_value(&node).unwrap();
        for comments in [Comments::Without, Comments::With] {
            let printed = to_toml::<Node>(&document, comments);
            let again = load::<Node>(&sources(&printed)).map_err(|m| TestCaseError::fail(format!("{m}\n{printed}")))?;
            prop_assert_eq!(&again.text, &node);
        }
    }

    // req: KN-13
    #[test]
    fn the_strongest_source_that_speaks_wins(
        file in proptest::option::of(0..9u64),
        env_value in proptest::option::of(0..9u64),
        flags in proptest::collection::vec(0..9u64, 0..3),
    ) {
        let text = file.map(|n| format!("[drain]\ndeadline_ms = {n}\n")).unwrap_or_default();
        let mut sources = sources(&text);
        sources.env = env_value
            .map(|n| env(&[("MACRONODE__DRAIN__DEADLINE_MS", &n.to_string())]))
            .unwrap_or_default();
        sources.sets = flags.iter().map(|n| format!("drain.deadline_ms={n}")).collect();
        let expected = flags.last().copied().or(env_value).or(file).unwrap_or(3_000);
        prop_assert_eq!(load::<Node>(&sources).unwrap().text.drain.deadline_ms, expected);
    }
}
