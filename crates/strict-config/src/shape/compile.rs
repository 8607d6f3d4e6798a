//! Reading a generated schema: the only place that knows how schemars writes things down.

use serde_json::{Map, Value};

use super::{Key, Kind, Reload, Shape};

/// Deeper than any configuration; reached only by a type that contains itself.
const DEEPEST: usize = 24;

/// What a section hands down to its keys.
#[derive(Clone, Copy)]
struct Inherited {
    reload: Reload,
    secret: bool,
    url: bool,
    depth: usize,
}

pub(super) fn compile(root: &Value) -> Shape {
    let above = Inherited {
        reload: Reload::Hot,
        secret: false,
        url: false,
        depth: 0,
    };
    Reader { root }.shape(root, above)
}

struct Reader<'a> {
    root: &'a Value,
}

impl Reader<'_> {
    fn shape(&self, schema: &Value, above: Inherited) -> Shape {
        assert!(
            above.depth < DEEPEST,
            "a configuration type may not contain itself"
        );
        let (schema, optional) = self.resolve(schema);
        let restart = text(&schema, "x-reload").is_some_and(|word| match word {
            "restart" => true,
            "reload" => false,
            other => panic!("x-reload is `reload` or `restart`, not `{other}`"),
        });
        let here = Inherited {
            reload: if restart {
                Reload::Restart
            } else {
                above.reload
            },
            secret: above.secret || schema.get("x-secret") == Some(&Value::Bool(true)),
            url: above.url || schema.get("x-url") == Some(&Value::Bool(true)),
            depth: above.depth + 1,
        };
        Shape {
            doc: text(&schema, "description").unwrap_or_default().into(),
            allowed: text(&schema, "x-allowed").map(Into::into),
            reload: here.reload,
            secret: here.secret,
            url: here.url,
            optional,
            default: schema
                .get("default")
                .filter(|value| !value.is_null())
                .cloned(),
            kind: self.kind(&schema, here),
        }
    }

    /// Follows references and unwraps `Option`; what is said beside a reference wins over what is said there.
    fn resolve(&self, schema: &Value) -> (Map<String, Value>, bool) {
        let Value::Object(mut schema) = schema.clone() else {
            panic!("a configuration key must have a described type");
        };
        let mut optional = false;
        for _ in 0..DEEPEST {
            let inner = if let Some(Value::String(target)) = schema.remove("$ref") {
                self.definition(&target)
            } else if let Some(Value::Array(cases)) = schema.remove("anyOf") {
                optional = true;
                only_non_null(cases)
            } else {
                optional |= drop_null(&mut schema);
                return (schema, optional);
            };
            let Value::Object(inner) = inner else {
                panic!("a configuration key must have a described type");
            };
            for (name, value) in inner {
                schema.entry(name).or_insert(value);
            }
        }
        panic!("a configuration type may not refer to itself");
    }

    fn definition(&self, target: &str) -> Value {
        let pointer = target.trim_start_matches('#');
        let found = self.root.pointer(pointer);
        found
            .unwrap_or_else(|| panic!("the schema refers to `{target}`, which it lacks"))
            .clone()
    }

    fn kind(&self, schema: &Map<String, Value>, here: Inherited) -> Kind {
        if let Some(names) = choices(schema) {
            return Kind::Choice(names);
        }
        for unsupported in ["oneOf", "allOf", "not", "pattern", "patternProperties"] {
            let given = schema.contains_key(unsupported);
            assert!(
                !given,
                "`{unsupported}` has no meaning in a configuration type"
            );
        }
        match text(schema, "type") {
            Some("object") => self.table(schema, here),
            Some("array") => Kind::List {
                of: Box::new(self.shape(schema.get("items").unwrap_or(&Value::Null), here)),
                min: count(schema, "minItems").unwrap_or(0),
                max: count(schema, "maxItems").unwrap_or(usize::MAX),
            },
            Some("integer") => integer(schema),
            Some("number") => float(schema),
            Some("string") => Kind::Text {
                min: count(schema, "minLength").unwrap_or(0),
                max: count(schema, "maxLength").unwrap_or(usize::MAX),
            },
            Some("boolean") => Kind::Bool,
            other => panic!("a configuration key cannot be of type {other:?}"),
        }
    }

    fn table(&self, schema: &Map<String, Value>, here: Inherited) -> Kind {
        let named = schema.get("properties").and_then(Value::as_object);
        match (named, schema.get("additionalProperties")) {
            (None, Some(of @ Value::Object(_))) => Kind::Map(Box::new(self.shape(of, here))),
            (_, None | Some(Value::Bool(_))) => {
                let required = schema.get("required").and_then(Value::as_array);
                let keys = named.into_iter().flatten().map(|(name, schema)| Key {
                    name: name.clone(),
                    required: required.is_some_and(|r| r.iter().any(|key| key == name)),
                    shape: self.shape(schema, here),
                });
                Kind::Table(keys.collect())
            }
            _ => panic!("a table has named keys or named entries, not both"),
        }
    }
}

fn text<'a>(schema: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str)
}

fn count(schema: &Map<String, Value>, key: &str) -> Option<usize> {
    schema
        .get(key)
        .and_then(Value::as_u64)
        .and_then(|n| usize::try_from(n).ok())
}

fn only_non_null(cases: Vec<Value>) -> Value {
    let mut cases = cases
        .into_iter()
        .filter(|case| case.get("type") != Some(&"null".into()));
    match (cases.next(), cases.next()) {
        (Some(only), None) => only,
        _ => panic!("an untagged union has no place in a configuration type"),
    }
}

/// `"type": ["string", "null"]` is how an optional plain value is written.
fn drop_null(schema: &mut Map<String, Value>) -> bool {
    let Some(Value::Array(types)) = schema.get("type") else {
        return false;
    };
    let rest: Vec<_> = types
        .iter()
        .filter(|name| *name != "null")
        .cloned()
        .collect();
    let [only] = rest.as_slice() else {
        panic!("a configuration key has one type");
    };
    schema.insert("type".into(), only.clone());
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    true
}

/// Enumerations come as `enum`, as `const`, or as `oneOf` of both where variants are documented.
fn choices(schema: &Map<String, Value>) -> Option<Vec<String>> {
    if let Some(Value::Array(values)) = schema.get("enum") {
        return values
            .iter()
            .map(|value| value.as_str().map(Into::into))
            .collect();
    }
    if let Some(Value::String(only)) = schema.get("const") {
        return Some(vec![only.clone()]);
    }
    let cases = schema.get("oneOf")?.as_array()?;
    let each: Option<Vec<_>> = cases
        .iter()
        .map(|case| choices(case.as_object()?))
        .collect();
    each.map(|lists| lists.concat())
}

/// A document holds whole numbers from `i64::MIN` to `u64::MAX`; a type that reaches further is cut there.
fn integer(schema: &Map<String, Value>) -> Kind {
    let (least, most) = match text(schema, "format") {
        Some("int8") => (i8::MIN.into(), i8::MAX.into()),
        Some("int16") => (i16::MIN.into(), i16::MAX.into()),
        Some("int32") => (i32::MIN.into(), i32::MAX.into()),
        Some("uint8") => (0, u8::MAX.into()),
        Some("uint16") => (0, u16::MAX.into()),
        Some("uint32") => (0, u32::MAX.into()),
        Some("uint" | "uint64" | "uint128") => (0, u64::MAX.into()),
        Some("int128") => (i64::MIN.into(), u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    };
    Kind::Integer {
        min: whole(schema, "minimum").map_or(least, |min| min.max(least)),
        max: whole(schema, "maximum").map_or(most, |max| max.min(most)),
    }
}

fn whole(schema: &Map<String, Value>, key: &str) -> Option<i128> {
    let number = schema.get(key)?;
    let exact = number
        .as_i64()
        .map(i128::from)
        .or(number.as_u64().map(i128::from));
    exact.or_else(|| number.as_f64().map(|bound| bound as i128))
}

fn float(schema: &Map<String, Value>) -> Kind {
    let bound = |key| schema.get(key).and_then(Value::as_f64);
    Kind::Float {
        min: bound("minimum").unwrap_or(f64::MIN),
        max: bound("maximum").unwrap_or(f64::MAX),
    }
}
