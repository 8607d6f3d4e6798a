//! The admin server: metrics, health, readiness, version, status; drain, reload and what services
//! do, for who has the token.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue};
use http::uri::Authority;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use strict_config::Secret;

use crate::Kernel;
use crate::clock;
use crate::config::ReloadRequests;
use crate::readiness::State;
use crate::reject::Reject;
use crate::serve::{Answer, Handler, Rejections};
use routes::{OPENMETRICS, PLAIN};

pub use routes::{Body, ROUTES, Route};

mod openapi;
mod routes;

/// Who the node is.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Its version.
    pub version: &'static str,
    /// What kind of build it is, for people.
    pub build: &'static str,
}

/// Something to say, asked each time.
pub type Facts = Arc<dyn Fn() -> Value + Send + Sync>;

/// A named part of `/status` that the kernel does not know.
pub struct Fact {
    name: &'static str,
    schema: fn() -> Value,
    read: Facts,
}

impl Fact {
    /// One that is described by its type, so that the document cannot say anything else.
    pub fn new<T: Serialize + JsonSchema>(
        name: &'static str,
        read: impl Fn() -> T + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            schema: routes::schema_of::<T>,
            read: Arc::new(move || json!(read())),
        }
    }
}

/// What a service does for who has the token, by a request's query; or why the query makes no sense.
pub type Action = Arc<dyn Fn(String) -> Doing + Send + Sync>;

/// An action under way.
pub type Doing = Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>;

/// What the admin server answers with.
pub struct Admin {
    kernel: Kernel,
    identity: Identity,
    reload: ReloadRequests,
    /// Asked for each request: the token may be changed by a reload.
    token: Arc<dyn Fn() -> Option<Secret> + Send + Sync>,
    /// Whether reading needs the token too; probes never do.
    guarded: bool,
    facts: Vec<Fact>,
    /// Pages that the kernel does not know.
    pages: Vec<Page>,
    /// What services do on demand.
    actions: Vec<(&'static Route, Action)>,
    rejections: Rejections,
}

/// A page that a service adds: read only, asked each time.
struct Page {
    route: &'static Route,
    read: Facts,
}

impl Admin {
    /// An admin server for `kernel`.
    pub fn new(
        kernel: &Kernel,
        identity: Identity,
        reload: ReloadRequests,
        token: Arc<dyn Fn() -> Option<Secret> + Send + Sync>,
        guarded: bool,
        facts: Vec<Fact>,
    ) -> Self {
        let rejections = Rejections::new(&kernel.registry);
        Self {
            kernel: kernel.clone(),
            identity,
            reload,
            token,
            guarded,
            facts,
            pages: Vec::new(),
            actions: Vec::new(),
            rejections,
        }
    }

    /// One more page to read.
    #[must_use]
    pub fn with_page(mut self, route: &'static Route, read: Facts) -> Self {
        self.pages.push(Page { route, read });
        self
    }

    /// One more thing to do for who has the token.
    #[must_use]
    pub fn with_action(mut self, route: &'static Route, action: Action) -> Self {
        self.actions.push((route, action));
        self
    }

    /// Everything it answers.
    fn routes(&self) -> impl Iterator<Item = &Route> {
        ROUTES
            .iter()
            .chain(self.pages.iter().map(|page| page.route))
            .chain(self.actions.iter().map(|(route, _)| *route))
    }

    fn route(&self, method: &Method, path: &str) -> Option<&Route> {
        self.routes()
            .find(|route| route.path == path && route.method == *method)
    }

    fn get(&self, route: &Route, request: &Request<Incoming>) -> Answer {
        if !route.is_probe()
            && let Err(why) = self.authorize(request)
        {
            if self.guarded {
                return self.rejections.answer(Reject::UNAUTHORIZED, why);
            }
            if !is_asked_locally(request) {
                let why = "without the token, ask by the address of admin.listen or by localhost";
                return self.rejections.answer(Reject::MISDIRECTED, why);
            }
        }
        match route.path {
            "/metrics" => text(OPENMETRICS, self.kernel.registry.render()),
            "/healthz" => text(PLAIN, "ok\n".to_owned()),
            "/readyz" => self.readyz(),
            "/version" => json_answer(
                json!({ "version": self.identity.version, "build": self.identity.build }),
            ),
            "/status" => json_answer(self.status()),
            "/openapi.json" => json_answer(self.openapi()),
            path => match self.pages.iter().find(|page| page.route.path == path) {
                Some(page) => json_answer((page.read)()),
                None => self.unknown(path),
            },
        }
    }

    /// What `/openapi.json` says.
    pub fn openapi(&self) -> Value {
        let version = self.identity.version;
        openapi::document(version, self.guarded, self.routes(), &self.facts)
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
            "stalls": self.kernel.watchdog.stalls(),
        });
        for fact in &self.facts {
            status[fact.name] = (fact.read)();
        }
        status
    }

    async fn post(&self, request: &Request<Incoming>) -> Answer {
        if let Err(why) = self.authorize(request) {
            return self.rejections.answer(Reject::UNAUTHORIZED, why);
        }
        let path = request.uri().path();
        if let Some((_, action)) = self.actions.iter().find(|(route, _)| route.path == path) {
            let query = request.uri().query().unwrap_or("");
            return match action(query.to_owned()).await {
                Ok(done) => json_answer(done),
                Err(why) => self.rejections.answer(Reject::BAD_REQUEST, &why),
            };
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
        if let Some(route) = self.routes().find(|route| route.path == path) {
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
        let paths: Vec<_> = self
            .routes()
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
        match *request.method() {
            Method::GET | Method::HEAD => match self.route(&Method::GET, path) {
                Some(route) => self.get(route, &request),
                None => self.unknown(path),
            },
            Method::POST if self.route(&Method::POST, path).is_some() => self.post(&request).await,
            _ => self.unknown(path),
        }
    }
}

/// Whether this host of a request stands for the machine itself. A page in a browser can have its own name lead here;
/// it cannot ask by the machine's address.
pub fn is_local(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok()
}

/// Every host it is asked by is local. One that names none comes from no browser.
fn is_asked_locally(request: &Request<Incoming>) -> bool {
    let target = request.uri().host().map(is_local);
    let named = request.headers().get_all(HOST).iter();
    let named = named.map(|host| {
        Authority::try_from(host.as_bytes()).is_ok_and(|authority| is_local(authority.host()))
    });
    target.into_iter().chain(named).all(|local| local)
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
