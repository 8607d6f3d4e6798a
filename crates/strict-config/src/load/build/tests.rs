use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::{ConfigText, Sources, load};
use crate::read::SourceFile;

/// Digits only, and talkative about anything else.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "String")]
struct Pin(String);

impl TryFrom<String> for Pin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.chars().find(|c| !c.is_ascii_digit()) {
            Some(odd) => Err(format!("`{odd}` in `{text}` is no digit")),
            None => Ok(Self(text)),
        }
    }
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Door {
    /// Opens it.
    #[schemars(with = "String", extend("x-secret" = true))]
    pin: Pin,
    /// Painted on it.
    #[schemars(with = "String")]
    number: Pin,
    /// Other doors.
    others: Vec<Room>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Room {
    /// Painted on it, always.
    #[schemars(with = "String")]
    number: Pin,
}

impl ConfigText for Door {
    const ENV_PREFIX: &'static str = "DOOR__";
}

fn mistakes(text: &str) -> Vec<(String, String)> {
    let file = Some(SourceFile::new("door.toml", text));
    let sources = Sources {
        file,
        ..Sources::default()
    };
    let report = load::<Door>(&sources).expect_err("has mistakes");
    report
        .iter()
        .map(|mistake| (mistake.key.clone(), mistake.what.clone()))
        .collect()
}

// req: KN-13
#[test]
fn what_only_the_type_can_refuse_is_refused_in_its_words_unless_it_is_secret() {
    let found = mistakes("pin = \"hunter2\"\nnumber = \"12a\"\n");
    let expected = [
        ("pin".into(), "is not acceptable".into()),
        ("number".into(), "`a` in `12a` is no digit".into()),
    ];
    assert_eq!(found, expected);
}

// req: KN-13
#[test]
fn all_items_a_type_refuses_are_named_by_where_they_were_written() {
    let found = mistakes("others = [{ number = \"a\" }, { number = \"1\" }, { number = \"b\" }]\n");
    let keys: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["others[0].number", "others[2].number"]);
}
