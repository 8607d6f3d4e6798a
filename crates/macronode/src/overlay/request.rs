//! The way of a request through the overlay: read, routed, admitted, in its gate, within its deadline, recorded.

use bytes::{Bytes, BytesMut};
use front_door::Visit;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use http_rules::authority::Authority;
use http_rules::{framing, path, request_id};
use serde::de::DeserializeOwned;

use super::Overlay;
use super::body::OverlayBody;
use super::config::Role;
use super::events::{self, Listener};
use super::guard::{Turned, Who};
use super::reject::Refusal;
use super::respond;
use super::routes::{self, Deed, Found};

/// A request's place among those who ask the same.
pub(crate) type Lease = concurrency_gate::Lease<'static, &'static str>;

/// Bytes of a body that the log tells.
const TOLD: usize = 256;

/// Answers a request.
pub(crate) async fn answer<B>(
    overlay: &Overlay,
    request: Request<B>,
    visit: &Visit,
) -> Response<OverlayBody>
where
    B: Body<Data = Bytes, Error: Into<Refusal>> + Unpin,
{
    let (parts, body) = request.into_parts();
    let make = || request_id::make([fastrand::u64(..), fastrand::u64(..)]);
    let id = request_id::given(&parts.headers).cloned();
    let id = id.unwrap_or_else(make);
    match serve(overlay, &parts, body, visit, &id).await {
        Ok(mut answer) => {
            answer.headers_mut().insert(request_id::NAME, id);
            answer
        }
        Err(refusal) => {
            overlay.metrics.refused(&refusal);
            respond::refusal(&refusal, &id).map(OverlayBody::Whole)
        }
    }
}

async fn serve<B>(
    overlay: &Overlay,
    parts: &Parts,
    body: B,
    visit: &Visit,
    id: &HeaderValue,
) -> Result<Response<OverlayBody>, Refusal>
where
    B: Body<Data = Bytes, Error: Into<Refusal>> + Unpin,
{
    let authority = read(parts, visit)?;
    let found = routes::find(&parts.method, parts.uri.path())?;
    overlay.metrics.asked(found.index);
    let front = overlay.front.load();
    let admitted = front
        .guard
        .admit(found.route.need, &parts.headers, &authority, visit);
    let body_bytes = front.body_bytes;
    drop(front);
    let (who, why) = match admitted {
        Ok(who) => (Some(who), None),
        Err(Turned { who, why }) => (who, Some(why)),
    };
    let mut what = String::new();
    let asked = Asked {
        found,
        parts,
        body,
        body_bytes,
    };
    let done = match why {
        Some(why) => Err(why),
        None => attend(overlay, asked, &mut what).await,
    };
    let result = done.as_ref().map(|_| ());
    record(&found, who.as_ref(), &what, visit, id, result);
    done
}

/// What somebody asks who may: in its gate, within its deadline.
async fn attend<B>(
    overlay: &Overlay,
    asked: Asked<'_, B>,
    what: &mut String,
) -> Result<Response<OverlayBody>, Refusal>
where
    B: Body<Data = Bytes, Error: Into<Refusal>> + Unpin,
{
    if asked.body.size_hint().lower() > asked.body_bytes {
        return Err(Refusal::BodyTooLarge);
    }
    let Found { index, route, .. } = asked.found;
    let now = overlay.desk.kernel.timeline.now();
    let lease = overlay.gates.enter(index, now).await?;
    let done = perform(overlay, asked, lease, what);
    let done = tokio::time::timeout(route.deadline, done).await;
    done.unwrap_or(Err(Refusal::Deadline))
}

/// The head can be read in one way only, and is meant for us.
fn read<'a>(parts: &'a Parts, visit: &Visit) -> Result<Authority<'a>, Refusal> {
    let checked = framing::check(parts).map_err(Refusal::Framing)?;
    path::check(parts.uri.path().as_bytes()).map_err(Refusal::Path)?;
    let tls = visit.tls.as_ref();
    let named = tls.and_then(|tls| tls.server_name.as_deref());
    if named.is_some_and(|named| !named.eq_ignore_ascii_case(&checked.authority.host)) {
        return Err(Refusal::Misdirected);
    }
    Ok(checked.authority)
}

/// What was asked, by whom it may be.
struct Asked<'a, B> {
    found: Found<'a>,
    parts: &'a Parts,
    body: B,
    body_bytes: u64,
}

async fn perform<B>(
    overlay: &Overlay,
    asked: Asked<'_, B>,
    lease: Lease,
    what: &mut String,
) -> Result<Response<OverlayBody>, Refusal>
where
    B: Body<Data = Bytes, Error: Into<Refusal>> + Unpin,
{
    let (desk, status) = (&overlay.desk, asked.found.route.status);
    match asked.found.route.deed {
        Deed::Status => respond::json(status, &desk.status()),
        Deed::Services => respond::json(status, &desk.services()),
        Deed::Readiness => respond::json(status, &desk.readiness()),
        Deed::Queues => respond::json(status, &desk.queues()),
        Deed::Gates => respond::json(status, &overlay.gates_view()),
        Deed::Tenants => respond::json(status, &desk.tenants()),
        Deed::Routes => respond::json(status, &desk.routes()),
        Deed::Endpoints => respond::json(status, &desk.endpoints()),
        Deed::Packs => respond::json(status, &desk.packs()),
        Deed::Config => respond::json(status, &desk.config()),
        Deed::OpenApi => respond::json(status, &super::openapi::document()),
        Deed::Events => Ok(stream(overlay, asked.parts, lease)),
        Deed::Reload => respond::json(status, &desk.reload()),
        Deed::Drain => respond::json(status, &desk.drain()),
        Deed::Purge => respond::json(status, &desk.purge(asked.json(what).await?).await?),
        Deed::SetWeight => {
            let tenant = asked.name()?;
            let set = desk.set_weight(&tenant, &asked.json(what).await?)?;
            respond::json(status, &set)
        }
        Deed::SetLimit => {
            let route = asked.name()?;
            let set = desk.set_limit(&route, &asked.json(what).await?)?;
            respond::json(status, &set)
        }
    }
}

fn stream(overlay: &Overlay, parts: &Parts, lease: Lease) -> Response<OverlayBody> {
    let body = match parts.method == Method::HEAD {
        true => OverlayBody::Whole(Bytes::new()),
        false => {
            let listener = Listener {
                journal: overlay.journal.clone(),
                shutdown: overlay.desk.kernel.shutdown.clone(),
                open: overlay.metrics.streams.clone(),
                _lease: lease,
            };
            events::open(listener, &parts.headers)
        }
    };
    respond::answer(200, respond::EVENT_STREAM, body)
}

impl<B> Asked<'_, B>
where
    B: Body<Data = Bytes, Error: Into<Refusal>> + Unpin,
{
    /// The name in the path, unescaped.
    fn name(&self) -> Result<String, Refusal> {
        let unreadable = || Refusal::Path(path::BadPath::Escape);
        unescaped(self.found.name).ok_or_else(unreadable)
    }

    /// The body, as what it is to be; its beginning is what the log says was asked.
    async fn json<T: DeserializeOwned>(self, what: &mut String) -> Result<T, Refusal> {
        if !is_json(&self.parts.headers) {
            return Err(Refusal::MediaType);
        }
        let whole = collected(self.body, self.body_bytes).await?;
        let beginning = &whole[..whole.len().min(TOLD)];
        *what = String::from_utf8_lossy(beginning).into_owned();
        // The values in a list, in their order, would pass for the object as well.
        if whole.trim_ascii_start().starts_with(b"[") {
            return Err(Refusal::BadBody("expected an object".to_owned()));
        }
        serde_json::from_slice(&whole).map_err(|error| Refusal::BadBody(error.to_string()))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

async fn collected<B>(mut body: B, most: u64) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes, Error: Into<Refusal>> + Unpin,
{
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(Into::into)?.into_data() else {
            continue;
        };
        if whole.len() as u64 + piece.len() as u64 > most {
            return Err(Refusal::BodyTooLarge);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

/// What stands behind escapes.
fn unescaped(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                (high << 4 | low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// One line for each change of the node, done or refused: who, what, and never by which token.
fn record(
    found: &Found<'_>,
    who: Option<&Who>,
    what: &str,
    visit: &Visit,
    id: &HeaderValue,
    done: Result<(), &Refusal>,
) {
    if found.route.need != Role::Operate {
        return;
    }
    tracing::info!(
        target: "audit",
        id = id.to_str().unwrap_or(""),
        who = who.map_or("nobody known", |who| who.name.as_str()),
        client = %visit.peer.ip(),
        action = found.route.name,
        name = found.name,
        what,
        result = done.map_or_else(Refusal::reason, |()| "done"),
    );
}

#[cfg(test)]
mod tests;
