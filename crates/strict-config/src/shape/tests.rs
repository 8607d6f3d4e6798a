use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::*;
use crate::sample::Node;

fn kind_of<T: JsonSchema>() -> Kind {
    Shape::of::<T>().kind
}

fn range_of<T: JsonSchema>() -> (i128, i128) {
    match kind_of::<T>() {
        Kind::Integer { min, max } => (min, max),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_integer_reaches_as_far_as_its_type() {
    assert_eq!(range_of::<u8>(), (0, 255));
    assert_eq!(range_of::<i32>(), (i32::MIN.into(), i32::MAX.into()));
    assert_eq!(range_of::<u32>(), (0, u32::MAX.into()));
    assert_eq!(range_of::<usize>(), (0, u64::MAX.into()));
    assert_eq!(range_of::<i64>(), (i64::MIN.into(), i64::MAX.into()));
    assert_eq!(range_of::<u128>(), (0, u64::MAX.into()));
    assert_eq!(range_of::<std::num::NonZeroU16>(), (1, u16::MAX.into()));
}

#[test]
fn a_range_of_the_field_narrows_that_of_the_type() {
    #[derive(JsonSchema)]
    struct Ranged {
        #[schemars(range(min = -5, max = 300))]
        #[expect(dead_code, reason = "only the schema is looked at")]
        value: u8,
    }
    let shape = Shape::of::<Ranged>();
    let value = shape.kind.key("value").unwrap();
    assert_eq!(value.shape.allowed(), "0 to 255");
}

#[test]
fn sections_hand_down_what_is_said_of_them() {
    let shape = Shape::of::<Node>();
    let admin = &shape.kind.key("admin").unwrap().shape;
    assert!(admin.optional);
    let log = &admin.kind.key("log").unwrap().shape;
    assert_eq!(log.reload, Reload::Restart);
    assert_eq!(shape.kind.key("name").unwrap().shape.reload, Reload::Hot);
    assert_eq!(shape.strongest_reload(), Reload::Restart);
}

#[test]
fn secrets_are_seen_from_above() {
    let shape = Shape::of::<Node>();
    let holds = |name: &str| shape.kind.key(name).unwrap().shape.holds_secret();
    assert!(holds("admin") && holds("upstreams") && !holds("drain") && !holds("name"));
}

#[test]
fn what_is_allowed_reads_as_words() {
    let shape = Shape::of::<Node>();
    let admin = &shape.kind.key("admin").unwrap().shape.kind;
    let words = |kind: &Kind, name: &str| kind.key(name).unwrap().shape.allowed();
    assert_eq!(words(&shape.kind, "name"), "text of 1 to 16 characters");
    assert_eq!(
        words(&shape.kind, "trusted"),
        "a list of at most 3 items of text"
    );
    assert_eq!(words(admin, "log"), "one of `human`, `json-lines`");
    assert_eq!(
        words(admin, "listen"),
        "an address and a port, such as 127.0.0.1:9000"
    );
    assert_eq!(words(admin, "writable"), "true or false");
}

// req: KN-13
#[test]
fn the_schema_is_closed_and_keeps_the_extensions() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Open {
        /// Something.
        #[schemars(extend("x-reload" = "restart"))]
        key: BTreeMap<String, u8>,
    }
    let schema = schema::<Open>();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["key"]["x-reload"], "restart");
    assert_eq!(
        schema["properties"]["key"]["additionalProperties"]["maximum"],
        255
    );
}

#[test]
#[should_panic(expected = "may not contain itself")]
fn a_type_that_contains_itself_is_refused() {
    #[derive(JsonSchema)]
    struct Endless {
        #[expect(dead_code, reason = "only the schema is looked at")]
        more: Vec<Endless>,
    }
    Shape::of::<Endless>();
}

#[test]
#[should_panic(expected = "untagged union")]
fn a_type_that_is_one_of_several_is_refused() {
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    enum Either {
        Number(u8),
        Word(String),
    }
    Shape::of::<Vec<Either>>();
}

#[test]
#[should_panic(expected = "x-reload is `reload` or `restart`")]
fn a_misspelt_extension_is_refused() {
    #[derive(JsonSchema)]
    #[schemars(extend("x-reload" = "cold"))]
    struct Misspelt {}
    Shape::of::<Misspelt>();
}
