use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::{Comments, ConfigText, Report, SourceFile, Sources, load, to_toml};

#[test]
fn users_and_queries_are_masked_and_nothing_else() {
    for (text, shown) in [
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("https://[::1]:443/a@b", "https://[::1]:443/a@b"),
        ("https://{host}{path}", "https://{host}{path}"),
        ("/v2/@scope/$1", "/v2/@scope/$1"),
        ("/x?key=hush", "/x?***"),
        ("/x?", "/x?"),
        ("http://u:hush@h/p?k=hush", "http://***@h/p?***"),
        ("http://hush@h", "http://***@h"),
        ("u:hush@h", "***@h"),
        ("http://u:hu/sh@h", "http://***@h"),
        ("http:/u:hush@h", "***@h"),
        ("http://u:hu?sh@h", "http://***@h"),
        ("", ""),
        ("://", "://"),
    ] {
        assert_eq!(masked_url(text), shown);
        assert_eq!(masked_url(shown), shown, "masked once is masked");
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Default, Debug)]
#[serde(deny_unknown_fields, default)]
struct Node {
    /// Places.
    #[schemars(extend("x-url" = true), inner(length(max = 30)))]
    places: Vec<String>,
    /// A place.
    #[schemars(extend("x-url" = true))]
    place: Option<String>,
    /// Not a place.
    count: u8,
}

impl ConfigText for Node {
    const ENV_PREFIX: &'static str = "NODE__";

    fn contradictions(&self, report: &mut Report) {
        if self.place.as_deref().is_some_and(has_hidden) {
            report.contradiction(&["place"], "no", "write another");
        }
    }
}

fn from(text: &str) -> Result<crate::Loaded<Node>, String> {
    let sources = Sources {
        file: Some(SourceFile::new("node.toml", text.to_owned())),
        ..Sources::default()
    };
    load(&sources).map_err(|mistakes| mistakes.to_string())
}

// req: KN-13
#[test]
fn what_a_url_hides_is_shown_nowhere_and_a_change_of_it_is_told() {
    let old = from("places = [\"http://h/x?key=hush1\"]\n").unwrap();
    let new = from("places = [\"http://h/x?key=hush2\"]\n").unwrap();
    let changes = old.diff(&new);
    let told: Vec<_> = changes.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["places: changed"]);
    assert!(old.diff(&old).is_empty());
    let printed = to_toml::<Node>(old.document(), Comments::Without);
    assert!(printed.contains("http://h/x?***"), "{printed}");
    assert!(
        from(&printed)
            .unwrap_err()
            .contains("instead of the secret")
    );
}

// req: KN-13
#[test]
fn a_mistake_about_a_url_does_not_repeat_what_it_hides() {
    for text in [
        "places = [\"http://u:hush@a-very-long-name.test/\"]\n",
        "places = \"http://u:hush@h\"\n",
        "places = [\"http://h\", \"http://u:hush@h\", 3]\n",
        "place = \"http://u:hush@h\"\n",
        "place = \"http://u:hush@h\"; count = 3\n",
        "count = 300 # no\nplace = \"http://u:hush@h\"\n",
        "places = [\"\\u0068ttp://u:hush@h\", 3]\n",
    ] {
        let said = from(text).unwrap_err();
        assert!(!said.contains("hush"), "{text}: {said}");
    }
    let set = Sources {
        sets: vec!["places=http://u:hush@h".to_owned()],
        ..Sources::default()
    };
    let said = load::<Node>(&set).unwrap_err().to_string();
    assert!(!said.contains("hush"), "{said}");
}
