//! As much of JSON Schema as the admin API's own document uses; a word of it that is not known here is an error.

use serde_json::Value;

/// Words that describe and do not restrict.
const NOTES: [&str; 4] = ["description", "title", "format", "default"];

/// Says where `value` is not what `schema` says.
///
/// # Panics
/// If the schema uses a word that is not known here.
pub fn check(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
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
            "anyOf" => list(rule).iter().any(|one| {
                let mut faults = Vec::new();
                check(one, value, at, &mut faults);
                faults.is_empty()
            }),
            "required" => list(rule).iter().all(|name| {
                let name = name.as_str().expect("a name");
                value.get(name).is_some() || !value.is_object()
            }),
            "properties" => {
                for (name, schema) in rule.as_object().expect("properties") {
                    if let Some(value) = value.get(name) {
                        check(schema, value, &format!("{at}.{name}"), faults);
                    }
                }
                true
            }
            "additionalProperties" => {
                let named = |name: &str| schema["properties"].get(name).is_some();
                let fields = value.as_object().into_iter().flatten();
                for (name, value) in fields.filter(|(name, _)| !named(name)) {
                    check(rule, value, &format!("{at}.{name}"), faults);
                }
                true
            }
            "items" => {
                for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, value, &format!("{at}[{index}]"), faults);
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
