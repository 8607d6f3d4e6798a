//! The overlay as an OpenAPI 3.1 document, made from the table it is served by.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::config::{BODY_BYTES, Role};
use super::reject::Refusal;
use super::respond::EVENT_STREAM;
use super::routes::{Gives, ROUTES, Route};

/// What every refusal holds.
#[derive(Serialize, JsonSchema)]
struct Problem {
    /// A URI that explains the kind of problem, or `about:blank`.
    r#type: String,
    title: String,
    status: u16,
    /// What happened and what to do, for people.
    detail: String,
    /// Stable code, the same in `x-macronode-reason`, in the log and in `rejected_total`.
    reason: String,
    /// By which the request is found in the log.
    request_id: String,
    /// When to come again, where that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

/// The document. The same for every node of this version: what needs a token on loopback needs one elsewhere.
pub(crate) fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<Problem>().to_value();
    let mut paths = Map::new();
    for route in &ROUTES {
        let method = route.verb.name().to_lowercase();
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[method] = operation(route, &problem, &mut generator);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "macronode overlay API",
            "version": crate::VERSION,
            "description": "Looks at a node and steers it. Reading is free on loopback and needs a token or a client \
                            certificate elsewhere; whatever changes the node needs one with the role `operate`.",
            "license": { "name": "Apache-2.0 OR MIT" },
        },
        "servers": [{ "url": "http://127.0.0.1:8660" }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "a secret of overlay.tokens" },
                "certificate": { "type": "mutualTLS", "description": "a name of overlay.certificates" },
            },
            "schemas": generator.take_definitions(true),
        },
    })
}

fn operation(route: &Route, problem: &Value, generator: &mut SchemaGenerator) -> Value {
    let content = match route.gives {
        Gives::Json(schema) => json!({ "application/json": { "schema": schema(generator) } }),
        Gives::Events => json!({ EVENT_STREAM: { "schema": { "type": "string" } } }),
        Gives::Document => json!({ "application/json": { "schema": { "type": "object" } } }),
    };
    let mut responses = Map::new();
    let done = json!({ "description": route.doc, "content": content });
    responses.insert(route.status.to_string(), done);
    responses.extend(refusals(route, problem));
    let by_any = json!([{ "token": [] }, { "certificate": [] }]);
    let by_any_or_none = json!([{}, { "token": [] }, { "certificate": [] }]);
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.doc,
        "security": if route.need == Role::Read { by_any_or_none } else { by_any },
        "responses": responses,
        "x-deadline-ms": route.deadline.as_millis() as u64,
        "x-at-once": route.at_once,
    });
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = json!(parameters);
    }
    if let Some(schema) = route.takes {
        operation["requestBody"] = json!({
            "required": true,
            "description": format!("at most {BODY_BYTES} bytes"),
            "content": { "application/json": { "schema": schema(generator) } },
        });
    }
    operation
}

fn parameters(route: &Route) -> Vec<Value> {
    let text = || json!({ "type": "string" });
    let mut parameters = Vec::new();
    if route.path.contains("{name}") {
        parameters.push(json!({
            "name": "name", "in": "path", "required": true, "schema": text(),
            "description": "as in the config",
        }));
    }
    if matches!(route.gives, Gives::Events) {
        parameters.push(json!({
            "name": "Last-Event-ID", "in": "header", "required": false, "schema": text(),
            "description": "the id of the last event that was read: the stream goes on after it, where what came \
                            since is kept; an unknown id begins with a snapshot",
        }));
    }
    parameters
}

/// Refusals by status, with the reasons that have it.
fn refusals(route: &Route, problem: &Value) -> impl Iterator<Item = (String, Value)> {
    let mut by_status: BTreeMap<u16, Vec<Refusal>> = BTreeMap::new();
    for refusal in route.refusals() {
        by_status.entry(refusal.status()).or_default().push(refusal);
    }
    by_status.into_iter().map(move |(status, refusals)| {
        let words: Vec<_> = refusals.iter().map(Refusal::detail).collect();
        let reasons: Vec<_> = refusals.iter().map(Refusal::reason).collect();
        let response = json!({
            "description": words.join("; or "),
            "content": { "application/problem+json": { "schema": problem } },
            "x-reasons": reasons,
        });
        (status.to_string(), response)
    })
}
