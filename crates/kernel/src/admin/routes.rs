//! Everything the admin server answers, as one table: what it serves, lists and describes is made from it.

use http::Method;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// A path, its method and what it is for.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// One line for people.
    pub doc: &'static str,
    /// The statuses of its answers, refusals aside.
    pub statuses: &'static [u16],
    /// What an answer holds.
    pub body: Body,
}

/// What an answer holds.
pub enum Body {
    /// Text of this content type.
    Text(&'static str),
    /// JSON of this schema.
    Json(fn() -> Value),
}

impl Route {
    /// A path that is read as JSON.
    pub const fn reads(path: &'static str, doc: &'static str, schema: fn() -> Value) -> Self {
        Self {
            method: Method::GET,
            path,
            doc,
            statuses: &[200],
            body: Body::Json(schema),
        }
    }

    /// A path that does something by its query and answers in JSON; needs the token.
    pub const fn acts(path: &'static str, doc: &'static str, schema: fn() -> Value) -> Self {
        Self {
            method: Method::POST,
            path,
            doc,
            statuses: &[200],
            body: Body::Json(schema),
        }
    }

    /// Whether load balancers ask it, which have no token.
    pub(crate) fn is_probe(&self) -> bool {
        matches!(self.path, "/healthz" | "/readyz")
    }
}

impl Body {
    /// The content type of the answer.
    pub fn content_type(&self) -> &'static str {
        match self {
            Body::Text(content_type) => content_type,
            Body::Json(_) => "application/json",
        }
    }
}

pub(super) const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
pub(super) const PLAIN: &str = "text/plain; charset=utf-8";

/// What every admin server answers; services add pages of their own.
pub static ROUTES: [Route; 8] = [
    Route {
        method: Method::GET,
        path: "/metrics",
        doc: "all metrics, as OpenMetrics text",
        statuses: &[200],
        body: Body::Text(OPENMETRICS),
    },
    Route {
        method: Method::GET,
        path: "/healthz",
        doc: "200 while the process turns",
        statuses: &[200],
        body: Body::Text(PLAIN),
    },
    Route {
        method: Method::GET,
        path: "/readyz",
        doc: "200 when ready or degraded, else 503; each service's reason",
        statuses: &[200, 503],
        body: Body::Json(readiness),
    },
    Route::reads("/version", "version and build", version),
    Route::reads(
        "/status",
        "services, queues, config, shutdown: what `macronode status` shows",
        status,
    ),
    Route::reads(
        "/openapi.json",
        "this table as an OpenAPI 3.1 document",
        openapi,
    ),
    Route {
        method: Method::POST,
        path: "/drain",
        doc: "begins the drain, a second time aborts it; needs the token",
        statuses: &[202],
        body: Body::Json(drain),
    },
    Route {
        method: Method::POST,
        path: "/reload",
        doc: "reloads the config; needs the token",
        statuses: &[202],
        body: Body::Json(reload),
    },
];

/// What values of a type look like.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let generator = settings.into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// An object with at least these.
fn object(properties: &[(&str, Value)]) -> Value {
    let names: Vec<_> = properties.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<_, _> = properties
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({ "type": "object", "required": names, "properties": properties })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn whole() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn boolean() -> Value {
    json!({ "type": "boolean" })
}

fn readiness() -> Value {
    let state = || json!({ "type": "string", "enum": ["unready", "degraded", "ready"] });
    let service = object(&[
        ("service", string()),
        ("state", state()),
        ("reason", string()),
        ("essential", boolean()),
    ]);
    object(&[
        ("state", state()),
        ("draining", boolean()),
        ("services", list(service)),
    ])
}

fn version() -> Value {
    object(&[("version", string()), ("build", string())])
}

fn status() -> Value {
    let child = object(&[
        ("name", string()),
        ("life", string()),
        ("phase", string()),
        ("restarts", whole()),
        ("crash_loop", boolean()),
        ("since_s", json!({ "type": "number" })),
    ]);
    let queue = object(&[
        ("name", string()),
        ("depth", whole()),
        ("capacity", whole()),
        ("dropped", whole()),
        ("refused", whole()),
    ]);
    let stall = object(&[
        ("who", string()),
        ("index", whole()),
        ("for_s", json!({ "type": "number" })),
    ]);
    object(&[
        ("version", string()),
        ("pid", whole()),
        ("uptime_s", whole()),
        ("unix_time_s", whole()),
        ("node", string()),
        ("stage", string()),
        ("children", list(child)),
        ("readiness", readiness()),
        ("queues", list(queue)),
        ("stalls", list(stall)),
    ])
}

fn openapi() -> Value {
    object(&[
        ("openapi", string()),
        ("info", json!({ "type": "object" })),
        ("paths", json!({ "type": "object" })),
        ("components", json!({ "type": "object" })),
    ])
}

fn drain() -> Value {
    object(&[(
        "drain",
        json!({ "type": "string", "enum": ["begun", "aborting"] }),
    )])
}

fn reload() -> Value {
    object(&[("reload", json!({ "const": "requested" }))])
}

/// What every refusal holds.
pub(super) fn problem() -> Value {
    object(&[
        ("type", string()),
        ("title", string()),
        ("status", whole()),
        ("detail", string()),
        ("reason", string()),
    ])
}
