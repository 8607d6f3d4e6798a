use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use front_door::{ClientCertificate, Protocol, TlsFacts};
use http_body::Frame;
use http_rules::forward::Forwarding;
use kernel::Kernel;
use kernel::config::{Reloader, Source, reload_requests};
use kernel::serve::problem::REASON_HEADER;
use serde_json::Value;
use strict_config::{SourceFile, Sources, load};
use svc_edge::Edge;
use svc_gateway::Gateway;

use super::*;
use crate::config::NodeText;
use crate::overlay::LiveFront;
use crate::overlay::desk::Desk;
use crate::overlay::routes::{ROUTES, Route};

const CONFIG: &str = "[overlay.limits]\nbody_bytes = 1024\n\
    [overlay.tokens.look]\nsecret = 'a-token-that-may-read'\n\
    [overlay.tokens.ops]\nsecret = 'a-token-that-may-all!'\nrole = 'operate'\n";
const SERVICES: &str = "[gateway]\nto = 'http://127.0.0.1:9'\n[gateway.tenants.gold]\nweight = 3\n\
    [[gateway.routes]]\nname = 'api'\nupstream = 'main'\ninflight = 8\n[edge]\n";

fn overlay(config: &str) -> Arc<Overlay> {
    let source = Source::BuiltIn {
        name: "test",
        text: "",
    };
    let sources = Sources {
        file: Some(SourceFile::new("test", config)),
        ..Sources::default()
    };
    let loaded = load::<NodeText>(&sources).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let (kernel, _publisher) = Kernel::new();
    let (text, front) = (loaded.text.clone(), loaded.text.overlay.clone());
    let front = LiveFront::new(&front.expect("an overlay")).expect("good certificates");
    let gateway = text
        .gateway
        .as_ref()
        .map(|text| Gateway::new(&kernel, text));
    let edge = text.edge.as_ref().map(|text| Edge::new(&kernel, text, 64));
    let (reloader, _live) = Reloader::new(
        &kernel,
        (source, Vec::new()),
        loaded,
        |text| text.into(),
        Arc::new(|_| Ok(Box::new(|| {}))),
    );
    Overlay::of(
        &front,
        Desk {
            reload: reload_requests(&kernel).0,
            reloader,
            gateway: gateway.transpose().expect("a gateway"),
            edge: edge.transpose().expect("an edge"),
            transport: None,
            doors: BTreeMap::new(),
            kernel,
        },
    )
}

/// A body that is there, never comes, or comes too slowly.
enum TestBody {
    Whole(Bytes),
    Never,
    Slow,
}

impl Body for TestBody {
    type Data = Bytes;
    type Error = Refusal;

    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Refusal>>> {
        match self.get_mut() {
            TestBody::Whole(whole) if whole.is_empty() => Poll::Ready(None),
            TestBody::Whole(whole) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(whole))))),
            TestBody::Never => Poll::Pending,
            TestBody::Slow => Poll::Ready(Some(Err(Refusal::BodyTooSlow))),
        }
    }
}

/// A request that is granted, until something of it is changed.
struct Good {
    path: String,
    method: &'static str,
    host: &'static str,
    token: Option<&'static str>,
    headers: Vec<(&'static str, &'static str)>,
    body: TestBody,
    local: SocketAddr,
    certificate: bool,
}

impl Good {
    fn of(route: &Route) -> Self {
        let (name, body) = match route.deed {
            Deed::SetWeight => ("gold", r#"{"weight":7}"#),
            Deed::SetLimit => ("api", r#"{"limit":2}"#),
            Deed::Purge => ("", r#"{"prefix":"/"}"#),
            _ => ("", ""),
        };
        Self {
            path: route.path.replace("{name}", name),
            method: route.verb.name(),
            host: "127.0.0.1",
            token: Some("a-token-that-may-all!"),
            headers: vec![("content-type", "application/json; charset=utf-8")],
            body: TestBody::Whole(Bytes::from_static(body.as_bytes())),
            local: SocketAddr::from(([127, 0, 0, 1], 8660)),
            certificate: false,
        }
    }

    /// With what makes the overlay refuse it for this reason.
    fn bad(mut self, refusal: &Refusal, need: Role) -> Self {
        let far = SocketAddr::from(([192, 0, 2, 7], 8660));
        match refusal {
            Refusal::Unauthorized => (self.token, self.local) = (None, far),
            Refusal::BadToken => self.token = Some("a-token-that-may-not!"),
            Refusal::Forbidden if need == Role::Operate => {
                self.token = Some("a-token-that-may-read");
            }
            Refusal::Forbidden => (self.token, self.certificate) = (None, true),
            Refusal::Misdirected => (self.token, self.host) = (None, "rebound.example"),
            Refusal::CrossSite => self.headers.push(("sec-fetch-site", "cross-site")),
            Refusal::BodyTooLarge => self.body = TestBody::Whole(vec![b' '; 1025].into()),
            Refusal::BodyTooSlow => self.body = TestBody::Slow,
            Refusal::Deadline => self.body = TestBody::Never,
            Refusal::MediaType => self.headers.clear(),
            Refusal::BadBody(_) => self.body = TestBody::Whole(Bytes::from_static(b"{\"x\":1}")),
            Refusal::UnknownTenant | Refusal::UnknownGate => {
                self.path = self.path.replace("gold", "nobody");
                self.path = self.path.replace("/api/", "/nowhere/");
            }
            Refusal::Busy | Refusal::ServiceOff => {}
            other => panic!("no way is known to have {other:?}"),
        }
        self
    }

    async fn ask(self, overlay: &Overlay) -> Response<OverlayBody> {
        let mut request = Request::builder().method(self.method).uri(&self.path);
        request = request.header("host", self.host);
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        if let Some(token) = self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(self.body).expect("a request");
        let client = self.certificate.then(|| ClientCertificate {
            subject: "CN=stranger".to_owned(),
            dns_names: Vec::new(),
            uris: Vec::new(),
        });
        let tls = client.map(|client| TlsFacts {
            server_name: None,
            group: "X25519",
            version: "TLSv1.3",
            resumed: false,
            client: Some(client),
        });
        let visit = Visit {
            peer: self.local,
            hop: self.local,
            local: self.local,
            forwarding: Forwarding::new(self.local.ip(), false),
            tls: tls.map(Arc::new),
            protocol: Protocol::H1,
            reminder: front_door::Reminder::none(),
        };
        answer(overlay, request, &visit).await
    }
}

async fn value(answer: Response<OverlayBody>) -> Value {
    let body = answer.into_body().collect().await;
    let body = body.unwrap_or_else(|never| match never {}).to_bytes();
    serde_json::from_slice(&body).expect("JSON")
}

// req: ND-07, ND-09
#[tokio::test(start_paused = true)]
async fn every_documented_refusal_can_be_had() {
    let (all, bare) = (overlay(&format!("{CONFIG}{SERVICES}")), overlay(CONFIG));
    for route in &ROUTES {
        for refusal in route.refusals() {
            let overlay = match refusal {
                Refusal::ServiceOff => &bare,
                _ => &all,
            };
            let index = ROUTES.iter().position(|other| other.name == route.name);
            let index = index.expect("a route of the table");
            let mut held = Vec::new();
            if refusal == Refusal::Busy {
                for _ in 0..route.at_once {
                    let now = overlay.desk.kernel.timeline.now();
                    held.push(overlay.gates.enter(index, now).await.expect("room"));
                }
            }
            let answer = Good::of(route).bad(&refusal, route.need).ask(overlay).await;
            let seen = (answer.status().as_u16(), &answer.headers()[&REASON_HEADER]);
            let wanted = (refusal.status(), refusal.reason());
            assert_eq!(
                (seen.0, seen.1.as_bytes()),
                (wanted.0, wanted.1.as_bytes()),
                "{}",
                route.name
            );
            let problem = value(answer).await;
            assert_eq!(problem["reason"], refusal.reason());
        }
    }
}

// req: ND-07, ND-09
#[tokio::test(start_paused = true)]
async fn every_route_of_the_table_is_served() {
    let overlay = overlay(&format!("{CONFIG}{SERVICES}"));
    for route in &ROUTES {
        let answer = Good::of(route).ask(&overlay).await;
        assert_eq!(answer.status().as_u16(), route.status, "{}", route.name);
        assert!(answer.headers().contains_key(request_id::NAME));
    }
    assert_eq!(overlay.desk.kernel.requests.count(), 1, "one drain");
}

// req: ND-09
#[tokio::test(start_paused = true)]
async fn the_values_of_a_body_without_their_names_are_refused() {
    let overlay = overlay(&format!("{CONFIG}{SERVICES}"));
    for (deed, body) in [(Deed::SetLimit, "[2]"), (Deed::SetWeight, " [7]")] {
        let route = ROUTES.iter().find(|route| route.deed == deed);
        let mut asked = Good::of(route.expect("a route"));
        asked.body = TestBody::Whole(Bytes::from_static(body.as_bytes()));
        let answer = asked.ask(&overlay).await;
        assert_eq!(answer.status(), 400, "{body}");
        assert_eq!(value(answer).await["reason"], "bad-body");
    }
}

// req: ND-09
#[tokio::test(start_paused = true)]
async fn asking_again_changes_nothing_more() {
    let overlay = overlay(&format!("{CONFIG}{SERVICES}"));
    for (path, state) in [
        ("/v1/drain", ["requested", "draining"]),
        ("/v1/reload", ["requested"; 2]),
    ] {
        for expected in state {
            let route = ROUTES.iter().find(|route| route.path == path);
            let answer = Good::of(route.expect("a route")).ask(&overlay).await;
            assert_eq!(value(answer).await["state"], expected, "{path}");
        }
    }
    assert_eq!(
        overlay.desk.kernel.requests.count(),
        1,
        "a second request would abort"
    );
    for _ in 0..2 {
        let route = ROUTES.iter().find(|route| route.deed == Deed::SetLimit);
        let set = value(Good::of(route.expect("a route")).ask(&overlay).await).await;
        assert_eq!(set["override"]["configured"], 8);
        assert_eq!(set["override"]["now"], 2);
    }
}

// req: ND-07
#[tokio::test(start_paused = true)]
async fn a_stream_of_events_keeps_its_place_until_it_ends() {
    let overlay = overlay(CONFIG);
    let route = ROUTES.iter().find(|route| route.deed == Deed::Events);
    let route = route.expect("a route");
    let mut open = Vec::new();
    for _ in 0..route.at_once {
        let answer = Good::of(route).ask(&overlay).await;
        assert_eq!(answer.status(), 200);
        open.push(answer);
    }
    assert_eq!(Good::of(route).ask(&overlay).await.status(), 503);
    open.pop();
    assert_eq!(Good::of(route).ask(&overlay).await.status(), 200);
}

#[test]
fn names_are_unescaped() {
    assert_eq!(unescaped("a%20b%2Fc").as_deref(), Some("a b/c"));
    for bad in ["%", "%2", "%zz", "%ff"] {
        assert_eq!(unescaped(bad), None, "{bad}");
    }
}
