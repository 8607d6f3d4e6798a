//! The demonstration's origin: so many places, so long for each request, first come first served.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use kernel::drain::Phase;
use kernel::serve::{Answer, Door, Handler, serve};
use kernel::tree::{Child, ChildSpec, Restart};
use svc_gateway::config::GatewayText;
use tokio::sync::Semaphore;

use super::config::CrowdText;
use crate::config::door_limits;

/// The origin.
pub(crate) static ORIGIN: ChildSpec = ChildSpec {
    name: "demo.origin",
    doc: "what the demonstration's gateway stands in front of: a server that can do only so much",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::Always,
    essential: false,
};

/// More connections than any limit the gateway may find for it.
const CONNECTIONS: usize = 1_024;

/// The origin behind this door.
pub(crate) fn child(text: &CrowdText, door: &Arc<Door>) -> Child {
    let origin = Arc::new(Origin {
        places: Semaphore::new(text.places as usize),
        service: Duration::from_millis(text.service_ms),
    });
    let door = door.clone();
    Child::new(&ORIGIN, move |context| {
        serve(
            context,
            door.clone(),
            door_limits(CONNECTIONS),
            origin.clone(),
        )
    })
}

struct Origin {
    /// Fair to requests, as a semaphore is, and so to nobody who sends few of them.
    places: Semaphore,
    service: Duration,
}

impl Handler for Origin {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        let _place = self.places.acquire().await;
        tokio::time::sleep(self.service).await;
        let took = self.service.as_millis();
        let body = format!(
            "{} took the origin {took} ms of work\n",
            request.uri().path()
        );
        let mut answer = Response::new(Full::new(Bytes::from(body)));
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(CONTENT_TYPE, kind);
        answer
    }
}

/// What the gateway's config calls the origin, wherever it listens.
const ENDPOINT: &str = "http://demo.origin";

/// Where the origin is, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement(Option<SocketAddr>);

impl Placement {
    /// Behind this door.
    pub(crate) fn of(door: Option<&Door>) -> Self {
        Self(door.map(Door::address))
    }

    /// The gateway's config with the origin's address where it is meant.
    pub(crate) fn placed(&self, text: &GatewayText) -> GatewayText {
        let mut text = text.clone();
        let Some(address) = self.0 else {
            return text;
        };
        let endpoints = text.upstreams.values_mut();
        let endpoints = endpoints.flat_map(|upstream| &mut upstream.endpoints);
        for endpoint in endpoints.chain(&mut text.to) {
            if endpoint == ENDPOINT {
                *endpoint = format!("http://{address}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_that_means_the_origin_is_where_the_origin_is() {
        let mut text = GatewayText {
            to: Some(ENDPOINT.to_owned()),
            ..GatewayText::default()
        };
        let other = svc_gateway::config::UpstreamText::to("http://127.0.0.1:9");
        text.upstreams.insert("other".to_owned(), other);
        let placed = Placement(Some("127.0.0.1:4711".parse().unwrap())).placed(&text);
        assert_eq!(placed.to.as_deref(), Some("http://127.0.0.1:4711"));
        assert_eq!(placed.upstreams["other"].endpoints, ["http://127.0.0.1:9"]);
        assert_eq!(Placement(None).placed(&text).to, text.to);
    }
}
