use serde_json::json;

use super::*;
use crate::sample::Node;

#[test]
fn keys_come_in_the_order_of_the_type_with_values_before_tables() {
    let document = json!({
        "upstreams": { "a b": { "servers": ["127.0.0.1:1"], "share": 0.5 } },
        "routes": [{ "prefix": "/\n", "upstream": "a b", "weight": 1 }, { "prefix": "" }],
        "drain": { "huge": 1, "deadline_ms": 2 },
        "trusted": [],
        "name": "n",
        "admin": null,
    });
    let expected = "\
name = \"n\"
trusted = []

[drain]
deadline_ms = 2
huge = 1

[upstreams]

[upstreams.\"a b\"]
servers = [\"127.0.0.1:1\"]
share = 0.5

[[routes]]
prefix = \"/\\n\"
upstream = \"a b\"
weight = 1

[[routes]]
prefix = \"\"
";
    assert_eq!(to_toml::<Node>(&document, Comments::Without), expected);
}

#[test]
fn comments_say_what_a_key_is_for_and_may_be() {
    let printed = to_toml::<Node>(&json!({ "drain": { "deadline_ms": 2 } }), Comments::With);
    let expected = "\
# How a node ends.
[drain]
# Time accepted work may take after a drain began, in milliseconds.
# Allowed: 0 to 600000
deadline_ms = 2
";
    assert_eq!(printed, expected);
}

#[test]
fn strings_survive_the_trip_through_toml() {
    for text in ["", "a\"b\\c", "\u{0}\u{7f}\u{9f}\t\r\n", "é…\u{1f600}"] {
        let parsed: toml::Table = toml::from_str(&format!("k = {}", basic_string(text))).unwrap();
        assert_eq!(parsed["k"].as_str(), Some(text));
    }
}
