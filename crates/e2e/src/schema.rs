//! As much of JSON Schema as the admin API's own document uses; a word of it that is not known here is an error.

use serde_json::Value;

/// Words that describe and do not restrict.
const NOTES: [&str; 4] = ["description", "title", "format", "default"];

/// Says where `value` is not what `schema` says.
///
/// # Panics
/// If the schema uses a word that is not known here.
pub fn check(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    check_in(&Value::Null, schema, value, at, faults);
}

/// [`check`] for a schema that refers to others in `document`.
///
/// # Panics
/// As [`check`], and if it refers to nothing there.
pub fn check_in(
    document: &Value,
    schema: &Value,
    value: &Value,
    at: &str,
    faults: &mut Vec<String>,
) {
    let fits_one = |one: &Value| {
        let mut faults = Vec::new();
        check_in(document, one, value, at, &mut faults);
        faults.is_empty()
    };
    let Some(rules) = schema.as_object() else {
        assert!(schema.is_boolean(), "{at}: no schema: {schema}");
        return;
    };
    for (word, rule) in rules {
        let fits = match word.as_str() {
            "type" => is_of(rule, value),
            "const" => value == rule,
            "enum" => list(rule).contains(value),
            "minimum" => value.as_f64() >= rule.as_f64() || !value.is_number(),
            "maximum" => value.as_f64() <= rule.as_f64() || !value.is_number(),
            "anyOf" => list(rule).iter().any(fits_one),
            "oneOf" => list(rule).iter().filter(|one| fits_one(one)).count() == 1,
            "$ref" => {
                let place = rule.as_str().expect("a reference").trim_start_matches('#');
                let other = document.pointer(place);
                let other = other.unwrap_or_else(|| panic!("{at}: nothing is at {place}"));
                check_in(document, other, value, at, faults);
                true
            }
            "required" => list(rule).iter().all(|name| {
                let name = name.as_str().expect("a name");
                value.get(name).is_some() || !value.is_object()
            }),
            "properties" => {
                for (name, schema) in rule.as_object().expect("properties") {
                    if let Some(value) = value.get(name) {
                        check_in(document, schema, value, &format!("{at}.{name}"), faults);
                    }
                }
                true
            }
            "additionalProperties" => {
                let named = |name: &str| schema["properties"].get(name).is_some();
                let fields = value.as_object().into_iter().flatten();
                for (name, value) in fields.filter(|(name, _)| !named(name)) {
                    check_in(document, rule, value, &format!("{at}.{name}"), faults);
                }
                true
            }
            "items" => {
                for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                    check_in(document, rule, value, &format!("{at}[{index}]"), faults);
                }
                true
            }
            note => {
                assert!(NOTES.contains(&note), "{at}: `{note}` is not known here");
                true
            }
        };
        if !fits {
            faults.push(format!("{at}: {word} is {rule}, got {value}"));
        }
    }
}

/// Says what `value` has that `schema` does not name, where it names what there is.
///
/// # Panics
/// As [`check`].
pub fn unnamed(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    for one in ["anyOf", "oneOf"].iter().flat_map(|word| schema.get(word)) {
        let fits = |one: &&Value| {
            let mut faults = Vec::new();
            check(one, value, at, &mut faults);
            faults.is_empty()
        };
        if let Some(one) = list(one).iter().find(fits) {
            unnamed(one, value, at, faults);
        }
    }
    if let Some(items) = schema.get("items") {
        for (index, value) in value.as_array().into_iter().flatten().enumerate() {
            unnamed(items, value, &format!("{at}[{index}]"), faults);
        }
    }
    let Some(properties) = schema.get("properties") else {
        return;
    };
    for (name, value) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        match properties.get(name).or(schema.get("additionalProperties")) {
            Some(schema) => unnamed(schema, value, &at, faults),
            None => faults.push(format!("{at}: is not named")),
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn is_of(kind: &Value, value: &Value) -> bool {
    if let Some(kinds) = kind.as_array() {
        return kinds.iter().any(|kind| is_of(kind, value));
    }
    match kind.as_str().expect("a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("`{other}` is no type"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_may_refer_to_another_and_be_one_of_several() {
        let document =
            json!({ "kinds": { "a": { "required": ["a"] }, "b": { "required": ["b"] } } });
        let schema = json!({ "oneOf": [{ "$ref": "#/kinds/a" }, { "$ref": "#/kinds/b" }] });
        for (value, fits) in [
            (json!({ "a": 1 }), true),
            (json!({ "a": 1, "b": 1 }), false),
            (json!({}), false),
        ] {
            let mut faults = Vec::new();
            check_in(&document, &schema, &value, "$", &mut faults);
            assert_eq!(faults.is_empty(), fits, "{value}");
        }
    }

    #[test]
    fn what_no_schema_names_is_told_with_its_place() {
        let schema = json!({
            "properties": {
                "a": { "items": { "properties": { "b": { "type": "string" } } } },
                "c": { "anyOf": [{ "type": "null" }, { "properties": {}, "type": "object" }] },
                "d": { "type": "object" },
            },
        });
        let value =
            json!({ "a": [{ "b": "" }, { "x": 1 }], "c": { "y": 1 }, "d": { "w": 1 }, "z": 1 });
        let mut faults = Vec::new();
        unnamed(&schema, &value, "$", &mut faults);
        let told = ["$.a[1].x", "$.c.y", "$.z"].map(|at| format!("{at}: is not named"));
        assert_eq!(faults, told);
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let schema = json!({
            "type": "object", "required": ["a", "b"],
            "properties": {
                "a": { "type": "array", "items": { "type": ["integer", "null"], "minimum": 0 } },
                "b": { "anyOf": [{ "const": "x" }, { "enum": [1, 2] }] },
            },
            "additionalProperties": { "type": "string" },
        });
        let faults = |value: Value| {
            let mut faults = Vec::new();
            check(&schema, &value, "$", &mut faults);
            faults
        };
        assert_eq!(faults(json!({ "a": [1, null], "b": 2, "c": "d" })), [""; 0]);
        for (bad, place) in [
            (json!({ "a": [] }), "$: required"),
            (json!({ "a": [1, -1], "b": "x" }), "$.a[1]: minimum"),
            (json!({ "a": ["1"], "b": "x" }), "$.a[0]: type"),
            (json!({ "a": [], "b": 3 }), "$.b: anyOf"),
            (json!({ "a": [], "b": 1, "c": 1 }), "$.c: type"),
            (json!([]), "$: type"),
        ] {
            let found = faults(bad);
            assert!(found[0].starts_with(place), "{found:?}");
        }
    }
}
