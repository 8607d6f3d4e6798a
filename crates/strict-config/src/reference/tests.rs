use super::*;
use crate::sample::Node;

fn key(path: &str) -> KeyDoc {
    let rows = reference::<Node>();
    let found = rows.iter().find(|row| row.path == path);
    found
        .unwrap_or_else(|| panic!("{path} is not listed"))
        .clone()
}

// req: KN-13, KN-19
#[test]
fn every_key_is_listed_once_in_the_order_of_the_type() {
    let paths: Vec<_> = reference::<Node>()
        .into_iter()
        .map(|row| row.path)
        .collect();
    let expected = [
        "name",
        "state_dir",
        "drain",
        "drain.deadline_ms",
        "drain.accept_grace_ms",
        "drain.huge",
        "drain.deep",
        "admin",
        "admin.listen",
        "admin.token",
        "admin.pass_phrase",
        "admin.log",
        "admin.writable",
        "upstreams",
        "upstreams.<name>.servers",
        "upstreams.<name>.servers[]",
        "upstreams.<name>.share",
        "upstreams.<name>.keys",
        "upstreams.<name>.keys[]",
        "routes",
        "routes[].prefix",
        "routes[].upstream",
        "routes[].weight",
        "trusted",
        "trusted[]",
    ];
    assert_eq!(paths, expected);
}

// req: KN-13
#[test]
fn a_row_says_all_there_is_to_know() {
    let row = key("drain.deadline_ms");
    assert_eq!(row.default.as_deref(), Some("3000"));
    assert_eq!(row.allowed, "0 to 600000");
    assert_eq!(row.env.as_deref(), Some("MACRONODE__DRAIN__DEADLINE_MS"));
    assert_eq!(
        (row.ty, row.reload, row.required),
        ("integer", Reload::Hot, false)
    );
    assert!(row.doc.starts_with("Time accepted work"));
}

#[test]
fn sections_hand_down_restart_and_secrets_show_no_default() {
    let token = key("admin.token");
    assert_eq!((token.reload, token.secret), (Reload::Restart, true));
    assert_eq!(token.default, None);
    assert!(key("admin").optional && !key("drain").optional);
}

#[test]
fn what_has_no_variable_names_none() {
    assert_eq!(key("routes[].prefix").env, None);
    assert!(key("routes[].prefix").required);
    let share = key("upstreams.<name>.share");
    assert_eq!(
        share.env.as_deref(),
        Some("MACRONODE__UPSTREAMS__<NAME>__SHARE")
    );
}
