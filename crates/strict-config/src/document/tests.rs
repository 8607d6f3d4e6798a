use serde_json::json;

use super::*;
use crate::load::{Sources, load};
use crate::read::SourceFile;
use crate::sample::Node;
use crate::toml_text::{Comments, to_toml};

const TEXT: &str = r#"
[admin]
token = "hunter2"
pass_phrase = "hunter2"
[upstreams.a]
servers = ["127.0.0.1:1"]
keys = ["hunter2", "hunter2"]
"#;

fn loaded() -> Loaded<Node> {
    let file = Some(SourceFile::new("node.toml", TEXT));
    load(&Sources {
        file,
        ..Sources::default()
    })
    .unwrap()
}

// req: KN-13
#[test]
fn no_print_of_an_accepted_configuration_shows_a_secret() {
    let loaded = loaded();
    assert_eq!(
        loaded.text.admin.as_ref().unwrap().token.expose(),
        "hunter2"
    );
    let prints = [
        format!("{loaded:?}"),
        loaded.document().to_string(),
        to_toml::<Node>(loaded.document(), Comments::With),
        to_toml::<Node>(
            &serde_json::to_value(&loaded.text).unwrap(),
            Comments::Without,
        ),
        redact::<Node>(&serde_json::to_value(&loaded.text).unwrap()).to_string(),
    ];
    for print in prints {
        assert!(
            !print.contains("hunter2") && print.contains(MASK),
            "{print}"
        );
    }
}

#[test]
fn the_document_has_defaults_and_leaves_out_what_is_absent() {
    let document = loaded().document().clone();
    assert_eq!(document["drain"]["deadline_ms"], 3_000);
    assert_eq!(document["admin"]["token"], MASK);
    assert!(document.get("state_dir").is_none());
}

#[test]
fn a_secret_in_the_wrong_place_of_a_foreign_document_is_masked() {
    let foreign =
        json!({ "admin": "hunter2", "odd": "hunter2", "upstreams": { "a": 7 }, "name": "n" });
    let expected = json!({ "admin": MASK, "odd": MASK, "upstreams": { "a": MASK }, "name": "n" });
    assert_eq!(redact::<Node>(&foreign), expected);
}

#[test]
fn a_printed_mask_is_not_taken_for_a_secret() {
    let printed = to_toml::<Node>(loaded().document(), Comments::Without);
    let file = Some(SourceFile::new("node.toml", printed));
    let report = load::<Node>(&Sources {
        file,
        ..Sources::default()
    })
    .unwrap_err()
    .to_string();
    assert!(
        report.contains("admin.token: is what a printed configuration shows instead"),
        "{report}"
    );
}
