//! The admin API as an OpenAPI 3.1 document, made from the table it is served by.

use http::Method;
use serde_json::{Map, Value, json};

use super::routes::{Body, problem};
use super::{Fact, Route};

/// The document. With `guarded`, reading needs the token too, except for probes.
pub(super) fn document<'a>(
    version: &str,
    guarded: bool,
    routes: impl Iterator<Item = &'a Route>,
    facts: &[Fact],
) -> Value {
    let mut paths = Map::new();
    for route in routes {
        let method = route.method.as_str().to_lowercase();
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[method] = operation(route, guarded, facts);
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "macronode admin API", "version": version },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "admin.token of the config" },
            },
            "schemas": { "Problem": problem() },
        },
    })
}

fn operation(route: &Route, guarded: bool, facts: &[Fact]) -> Value {
    let mut responses = Map::new();
    let mut schema = schema(&route.body);
    if route.path == "/status" {
        add(&mut schema, facts);
    }
    let content = json!({ route.body.content_type(): { "schema": schema } });
    for status in route.statuses {
        let response = json!({ "description": route.doc, "content": content });
        responses.insert(status.to_string(), response);
    }
    let refusal = json!({ "$ref": "#/components/schemas/Problem" });
    responses.insert(
        "default".to_owned(),
        json!({
            "description": "refused; the reason is in the body and in x-macronode-reason",
            "content": { "application/problem+json": { "schema": refusal } },
        }),
    );
    let needs_token = route.method == Method::POST || (guarded && !route.is_probe());
    json!({
        "operationId": name(route),
        "summary": route.doc,
        "security": if needs_token { json!([{ "token": [] }]) } else { json!([]) },
        "responses": responses,
    })
}

fn schema(body: &Body) -> Value {
    match body {
        Body::Text(_) => json!({ "type": "string" }),
        Body::Json(schema) => schema(),
    }
}

/// What the node says beside what the kernel does.
fn add(schema: &mut Value, facts: &[Fact]) {
    for fact in facts {
        schema["properties"][fact.name] = (fact.schema)();
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.extend(facts.iter().map(|fact| json!(fact.name)));
    }
}

/// Its path without what an identifier cannot have; the methods of one path differ.
fn name(route: &Route) -> String {
    let path = route.path.trim_start_matches('/').replace(['/', '.'], "_");
    format!("{}_{path}", route.method.as_str().to_lowercase())
}
