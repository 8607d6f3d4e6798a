//! The admin server: metrics, health, readiness, version, status; drain and reload for who has the token.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::{Value, json};
use strict_config::Secret;

use crate::Kernel;
use crate::clock;
use crate::config::ReloadRequests;
use crate::readiness::State;
use crate::reject::Reject;
use crate::serve::{Answer, Handler, Rejections};

/// Who the node is.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Its version.
    pub version: &'static str,
    /// What kind of build it is, for people.
    pub build: &'static str,
}

/// Something more to say in `/status`, asked each time.
pub type Facts = Arc<dyn Fn() -> Value + Send + Sync>;

/// What the admin server answers with.
pub struct Admin {
    kernel: Kernel,
    identity: Identity,
    reload: ReloadRequests,
    /// Asked for each request: the token may be changed by a reload.
    token: Arc<dyn Fn() -> Option<Secret> + Send + Sync>,
    /// Whether reading needs the token too; probes never do.
    guarded: bool,
    /// Named parts of `/status` that the kernel does not know.
    facts: Vec<(&'static str, Facts)>,
    rejections: Rejections,
}

/// A path, its method and what it is for.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// One line for people.
    pub doc: &'static str,
}

/// Everything the admin server answers.
pub const ROUTES: [Route; 7] = [
    Route {
        method: Method::GET,
        path: "/metrics",
        doc: "all metrics, as OpenMetrics text",
    },
    Route {
        method: Method::GET,
        path: "/healthz",
        doc: "200 while the process turns",
    },
    Route {
        method: Method::GET,
        path: "/readyz",
        doc: "200 when ready or degraded, else 503; each service's reason",
    },
    Route {
        method: Method::GET,
        path: "/version",
        doc: "version and build",
    },
    Route {
        method: Method::GET,
        path: "/status",
        doc: "services, queues, config, shutdown: what `macronode status` shows",
    },
    Route {
        method: Method::POST,
        path: "/drain",
        doc: "begins the drain, a second time aborts it; needs the token",
    },
    Route {
        method: Method::POST,
        path: "/reload",
        doc: "reloads the config; needs the token",
    },
];

impl Admin {
    /// An admin server for `kernel`.
    pub fn new(
        kernel: &Kernel,
        identity: Identity,
        reload: ReloadRequests,
        token: Arc<dyn Fn() -> Option<Secret> + Send + Sync>,
        guarded: bool,
        facts: Vec<(&'static str, Facts)>,
    ) -> Self {
        let rejections = Rejections::new(&kernel.registry);
        Self {
            kernel: kernel.clone(),
            identity,
            reload,
            token,
            guarded,
            facts,
            rejections,
        }
    }

    fn get(&self, request: &Request<Incoming>) -> Answer {
        let path = request.uri().path();
        let probe = matches!(path, "/healthz" | "/readyz");
        if self.guarded
            && !probe
            && let Err(why) = self.authorize(request)
        {
            return self.rejections.answer(Reject::UNAUTHORIZED, why);
        }
        match path {
            "/metrics" => text(
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
                self.kernel.registry.render(),
            ),
            "/healthz" => text("text/plain; charset=utf-8", "ok\n".to_owned()),
            "/readyz" => self.readyz(),
            "/version" => json_answer(
                json!({ "version": self.identity.version, "build": self.identity.build }),
            ),
            _ => json_answer(self.status()),
        }
    }

    fn readyz(&self) -> Answer {
        let node = self.kernel.readiness.snapshot();
        let serves = node.state > State::Unready;
        let mut answer = json_answer(json!(node));
        if !serves {
            *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        answer
    }

    /// What `/status` says.
    pub fn status(&self) -> Value {
        let board = self.kernel.board.load();
        let mut status = json!({
            "version": self.identity.version,
            "pid": std::process::id(),
            "uptime_s": self.kernel.timeline.now().as_secs(),
            "unix_time_s": clock::unix_time().as_secs(),
            "node": board.node,
            "stage": self.kernel.shutdown.stage(),
            "children": board.children,
            "readiness": self.kernel.readiness.snapshot(),
            "queues": self.kernel.queues.status(),
        });
        for (name, fact) in &self.facts {
            status[*name] = fact();
        }
        status
    }

    fn post(&self, request: &Request<Incoming>) -> Answer {
        if let Err(why) = self.authorize(request) {
            return self.rejections.answer(Reject::UNAUTHORIZED, why);
        }
        let said = match request.uri().path() {
            "/drain" => {
                self.kernel.requests.request();
                json!({ "drain": if self.kernel.requests.count() > 1 { "aborting" } else { "begun" } })
            }
            _ => {
                self.reload.request();
                json!({ "reload": "requested" })
            }
        };
        let mut answer = json_answer(said);
        *answer.status_mut() = StatusCode::ACCEPTED;
        answer
    }

    fn authorize(&self, request: &Request<Incoming>) -> Result<(), &'static str> {
        let Some(token) = (self.token)() else {
            return Err("no admin.token is configured; send SIGTERM or SIGHUP instead");
        };
        let shown = request
            .headers()
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        match shown.and_then(|value| value.strip_prefix("Bearer ")) {
            Some(shown) if token == Secret::from(shown.to_owned()) => Ok(()),
            Some(_) => Err("the token is wrong"),
            None => Err("send `Authorization: Bearer TOKEN` with the token of admin.token"),
        }
    }

    fn unknown(&self, path: &str) -> Answer {
        if let Some(route) = ROUTES.iter().find(|route| route.path == path) {
            let mut answer = self
                .rejections
                .answer(Reject::METHOD_NOT_ALLOWED, "see the Allow header");
            let allow = if route.method == Method::GET {
                "GET, HEAD"
            } else {
                "POST"
            };
            answer
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static(allow));
            return answer;
        }
        let paths: Vec<_> = ROUTES
            .iter()
            .map(|route| format!("{} {}", route.method, route.path))
            .collect();
        self.rejections.answer(
            Reject::NOT_FOUND,
            &format!("here are: {}", paths.join(", ")),
        )
    }
}

impl Handler for Admin {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        let path = request.uri().path();
        let known = |method: &Method| {
            ROUTES
                .iter()
                .any(|route| route.path == path && route.method == *method)
        };
        match *request.method() {
            Method::GET | Method::HEAD if known(&Method::GET) => self.get(&request),
            Method::POST if known(&Method::POST) => self.post(&request),
            _ => self.unknown(path),
        }
    }
}

fn json_answer(value: Value) -> Answer {
    text("application/json", format!("{value:#}\n"))
}

fn text(content_type: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

#[cfg(test)]
mod tests;
