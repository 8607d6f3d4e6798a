//! The bridge: HTTP requests in frames reach the gateway's routes, through the same admission, with the same caps.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use front_door::{InPlace, Service as _, Upload, UploadError};
use futures_util::future::BoxFuture;
use futures_util::stream::StreamExt as _;
use futures_util::{FutureExt as _, Stream};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http::uri::Scheme;
use http::{Method, Request, Response, Uri, Version};
use http_body::{Body as _, Frame, SizeHint};
use http_rules::deadline::{REQUEST_TIMEOUT, request_timeout};
use http_rules::forward::strip_hop_by_hop;
use oap::app_proto;
use oap::bridge::{REQUEST, RequestHead, put_fields};
use svc_gateway::{Answer, Claim, Gateway};
use svc_transport::config::TransportText;
use svc_transport::{
    Ask, Body, BrokenOff, Echo, Handler, Opcode, Outflow, Refusal, Reply, Services,
};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What the bridge can be asked. The gateway's routes have deadlines and limits of their own.
pub(crate) static OPCODES: [Opcode; 1] = [Opcode {
    code: REQUEST,
    name: "http",
    inflight: 4_096,
    waiting: 0,
    deadline: Duration::from_secs(3_600),
    idempotent: false,
}];

/// What the services of a node can be asked, by `app_proto`.
pub(crate) fn opcodes() -> [(u16, &'static [Opcode]); 2] {
    [
        (app_proto::HTTP, &OPCODES),
        (app_proto::ECHO, Echo.opcodes()),
    ]
}

/// The services that a config switches on.
pub(crate) fn services(text: &TransportText, gateway: Option<&Arc<Gateway>>) -> Services {
    let mut services = Services::new();
    services.insert(app_proto::ECHO, Arc::new(Echo));
    if let Some(gateway) = gateway.filter(|_| text.bridge) {
        services.insert(app_proto::HTTP, Arc::new(Bridge::new(gateway.clone())));
    }
    services
}

/// The service of `app_proto` 1.
pub(crate) struct Bridge {
    gateway: Arc<Gateway>,
}

impl Bridge {
    pub(crate) fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway }
    }

    async fn cross(&self, ask: &Ask) -> Result<Reply, Refusal> {
        let mut body = ask.body();
        // The head is complete in the first frame.
        let mut first = body.next().await.transpose()?.unwrap_or_default();
        let head = RequestHead::take(&mut first)?;
        let fault = Arc::new(OnceLock::new());
        let mut brought = Brought {
            first,
            rest: body,
            misstated: false,
            fault: fault.clone(),
        };
        let brings = brought.size_hint().exact();
        let said = said_length(&head.headers);
        brought.misstated = brings
            .zip(said)
            .is_some_and(|(brings, said)| brings != said);
        let mut request = request(head, Upload::fed(brought), ask)?;
        if ask.tenant != 0 {
            request.extensions_mut().insert(claim(ask.tenant, &fault));
        }
        let mut request = Some(request);
        let request = InPlace::new(&mut request);
        let response = self.gateway.call(request, &ask.visit).await;
        // What is wrong with the frames is not the gateway's to say.
        match fault.get() {
            Some(refusal @ (Refusal::Protocol(_) | Refusal::Broken(_) | Refusal::Tenant)) => {
                Err(*refusal)
            }
            _ => reply(response),
        }
    }
}

impl Handler for Bridge {
    fn opcodes(&self) -> &'static [Opcode] {
        &OPCODES
    }

    fn proves_tenants(&self) -> bool {
        true
    }

    fn repeats(&self, _opcode: &Opcode, ask: &Ask) -> bool {
        ask.whole().is_some_and(|head| method_is_idempotent(head))
    }

    fn handle<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Reply, Refusal>> {
        self.cross(ask).boxed()
    }
}

/// How long the head says the body is; what it says in two ways, or makes no sense, is the gateway's to refuse.
fn said_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// That the credential says this tenant. Where it says another, or none, that is the fault of the frame.
fn claim(tenant: u128, fault: &Arc<OnceLock<Refusal>>) -> Claim {
    let fault = fault.clone();
    Claim(Arc::new(move |name| {
        let is_true = name.is_some_and(|name| oap::tenant_id(name) == tenant);
        if !is_true {
            let _said_before = fault.set(Refusal::Tenant).is_err();
        }
        is_true
    }))
}

fn method_is_idempotent(head: &[u8]) -> bool {
    let Some((length, rest)) = head.split_first() else {
        return false;
    };
    let method = rest.get(..usize::from(*length));
    let method = method.and_then(|method| Method::from_bytes(method).ok());
    method.is_some_and(|method| method.is_idempotent())
}

/// The request as the gateway would have had it from a connection of HTTP/2.
fn request(head: RequestHead, upload: Upload, ask: &Ask) -> Result<Request<Upload>, Refusal> {
    let scheme = match ask.visit.tls {
        Some(_) => Scheme::HTTPS,
        None => Scheme::HTTP,
    };
    let uri = Uri::builder()
        .scheme(scheme)
        .authority(head.authority)
        .path_and_query(head.target)
        .build();
    let mut request = Request::new(upload);
    *request.method_mut() = head.method;
    *request.uri_mut() = uri.map_err(|_| oap::Refusal::HeadBroken)?;
    *request.version_mut() = Version::HTTP_2;
    *request.headers_mut() = head.headers;
    let headers = request.headers_mut();
    strip_hop_by_hop(headers);
    add_meta(headers, ask)?;
    Ok(request)
}

/// What the capability section says, where the head does not.
fn add_meta(headers: &mut HeaderMap, ask: &Ask) -> Result<(), Refusal> {
    if let Some(token) = &ask.token
        && !headers.contains_key(AUTHORIZATION)
    {
        let bearer = [b"Bearer ", &token[..]].concat();
        let mut bearer = HeaderValue::from_maybe_shared(Bytes::from(bearer))
            .map_err(|_| oap::Refusal::CapBroken)?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    if let Some(trace) = &ask.trace
        && !headers.contains_key(TRACEPARENT)
    {
        let trace = HeaderValue::from_maybe_shared(trace.clone());
        headers.insert(TRACEPARENT, trace.map_err(|_| oap::Refusal::CapBroken)?);
    }
    if let Some(wish) = ask.wish {
        headers.append(REQUEST_TIMEOUT, request_timeout(wish));
    }
    Ok(())
}

fn reply(response: Response<Answer>) -> Result<Reply, Refusal> {
    let (mut parts, body) = response.into_parts();
    strip_hop_by_hop(&mut parts.headers);
    let mut head = BytesMut::new();
    put_fields(&mut head, &parts.headers).map_err(|_| Refusal::AnswerOver)?;
    Ok(Reply {
        status: parts.status.as_u16(),
        head: head.freeze(),
        body: match body {
            Answer::Whole(whole) => Outflow::Whole(whole),
            passing => Outflow::Stream(Passing(passing).boxed()),
        },
    })
}

/// What a request brings behind its head.
struct Brought {
    first: Bytes,
    rest: Body,
    /// It is all here, and is not as long as its head says. Then how long it is, is not told: the gateway takes it for
    /// a stream, and finds out as with every other.
    misstated: bool,
    /// What was wrong with the frames, for who answers.
    fault: Arc<OnceLock<Refusal>>,
}

impl http_body::Body for Brought {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        if !self.first.is_empty() {
            let first = std::mem::take(&mut self.first);
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let piece = std::task::ready!(Pin::new(&mut self.rest).poll_next(cx));
        Poll::Ready(piece.map(|piece| match piece {
            Ok(piece) => Ok(Frame::data(piece)),
            Err(refusal) => {
                let _said_before = self.fault.set(refusal).is_err();
                Err(upload_error(refusal))
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        !self.misstated && self.first.is_empty() && self.rest.is_over()
    }

    fn size_hint(&self) -> SizeHint {
        if self.misstated {
            return SizeHint::default();
        }
        let (least, most) = self.rest.size();
        let first = self.first.len() as u64;
        let mut hint = SizeHint::new();
        if let Some(most) = most {
            hint.set_upper(first + most);
        }
        hint.set_lower(first + least);
        hint
    }
}

fn upload_error(refusal: Refusal) -> UploadError {
    match refusal {
        Refusal::BodySlow => UploadError::TooSlow,
        Refusal::BodyGone => UploadError::Gone(refusal.reason().into()),
        _ => UploadError::Malformed(refusal.reason().into()),
    }
}

/// An answer that comes from an upstream; its trailers stay behind.
struct Passing(Answer);

impl Stream for Passing {
    type Item = Result<Bytes, BrokenOff>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return match std::task::ready!(Pin::new(&mut self.0).poll_frame(cx)) {
                None => Poll::Ready(None),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => Poll::Ready(Some(Ok(data))),
                    Err(_trailers) => continue,
                },
                Some(Err(_)) => Poll::Ready(Some(Err(BrokenOff {
                    status: 502,
                    reason: "upstream-reset",
                }))),
            };
        }
    }
}
