//! A request as its upstream sees it: what is ours to say is said anew, what was for us alone is gone.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use front_door::Visit;
use http::header::{AUTHORIZATION, HOST, HeaderMap, VIA};
use http::uri::Uri;
use http::{HeaderName, HeaderValue, Version};
use http_rules::deadline;
use http_rules::forward::{
    Fields, Hop, Trail, client_host, client_proto, count_hop, join_cookies, request_upgrade,
    strip_hop_by_hop,
};
use http_rules::request_id;
use http_rules::trace::{TRACEPARENT, TRACESTATE, TraceContext};
use passport::Method;
use upstream::{Field, hash_key};

use crate::backend::Backend;
use crate::caller::Caller;
use crate::forward::Call;
use crate::heads::Heads;
use crate::intake::Taken;
use crate::journey::Journey;
use crate::naming::said_once;
use crate::plan::{Plan, Route};
use crate::quota::address_key;
use crate::reject::Refusal;
use crate::request::Draft;
use crate::tunnel::Wish;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
/// Fields that are said to every upstream, and some to spare.
const SAID: usize = 8;

/// A head on its way out.
struct Head<'a> {
    /// What came with the request.
    headers: HeaderMap,
    /// What is said besides.
    more: Vec<Field<'a>>,
    /// Nothing that came is named like anything that is said: it need not be looked for in the map.
    apart: bool,
}

impl<'a> Head<'a> {
    /// Says this, whatever was said before.
    fn say(&mut self, name: HeaderName, value: Cow<'a, HeaderValue>) {
        match self.apart {
            true => self.more.push((name, value)),
            false => drop(self.headers.insert(name, value.into_owned())),
        }
    }

    /// All of it in the map, for who changes anything there is.
    fn whole(&mut self) -> &mut HeaderMap {
        let more = self.more.drain(..);
        self.headers
            .extend(more.map(|(name, value)| (name, value.into_owned())));
        &mut self.headers
    }
}

/// The request that is sent on.
pub(crate) fn call<'a>(
    journey: &Journey,
    draft: &mut Draft,
    taken: Taken,
    wish: Option<&Wish>,
    (plan, backend, route): (&'a Plan, &'a Arc<Backend>, &'a Arc<Route>),
    visit: &'a Visit,
    until: Duration,
) -> Result<Call<'a>, Refusal> {
    let path = route.rewrite.apply(std::mem::take(&mut draft.parts.uri))?;
    let heads = journey.heads;
    let mut headers = std::mem::take(&mut draft.parts.headers);
    let hash = backend.hashes.then(|| {
        hash(
            journey.caller.as_ref(),
            backend.hash_header.as_ref(),
            &headers,
        )
    });
    if heads.has(Heads::HOP_BY_HOP) {
        strip_hop_by_hop(&mut headers);
    }
    if heads.has(Heads::HOPS) {
        count_hop(&draft.parts.method, &mut headers);
    }
    if draft.parts.version == Version::HTTP_2 {
        join_cookies(&mut headers);
    }
    if let Some(wish) = wish {
        request_upgrade(&mut headers, wish.protocol.clone());
    }
    let mut head = Head {
        headers,
        more: Vec::with_capacity(SAID),
        apart: !heads.has(Heads::OURS),
    };
    identify(plan, journey, &mut head);
    originate(journey, draft, visit, &mut head);
    sign(plan, journey, route, draft.parts.version, until, &mut head);
    if let Some(host) = route.host.as_ref().or(draft.host.as_ref()).cloned() {
        head.headers.insert(HOST, host);
    }
    if !route.request_edits.is_empty() {
        route.request_edits.apply(head.whole());
    }
    Ok(Call {
        backend: Cow::Borrowed(backend),
        route: Cow::Borrowed(route),
        method: draft.parts.method.clone(),
        uri: Uri::from(path),
        headers: head.headers,
        more: head.more,
        payload: taken.payload,
        verdict: taken.verdict,
        begins: plan.shared.timeline.instant(journey.seen),
        until: plan.shared.timeline.instant(until),
        hasty: route.is_hasty(until.saturating_sub(journey.began)),
        hash,
    })
}

/// The tenant as it was verified, never as it was claimed; keys meant for us go no further.
fn identify(plan: &Plan, journey: &Journey, head: &mut Head) {
    if plan.verifier.is_none() {
        // What it says is for upstreams the word of who verified it: of nobody here, unless a trusted hop did.
        if journey.heads.has(Heads::TENANT) && !is_trusted(journey) {
            head.headers.remove(plan.tenant_header());
        }
        return;
    }
    if let Some(name) = plan
        .key_header
        .as_ref()
        .filter(|_| journey.heads.has(Heads::KEY))
    {
        head.headers.remove(name);
    }
    let name = plan.tenant_header();
    let caller = journey.caller.as_ref();
    let tenant = caller.and_then(|caller| caller.tenant());
    let how = caller.and_then(|caller| caller.identity.as_ref());
    let how = how.map(|identity| identity.how);
    if how == Some(Method::ApiKey) && !journey.heads.has(Heads::KEY) {
        // It was shown as a bearer's.
        head.headers.remove(AUTHORIZATION);
    }
    if journey.heads.has(Heads::TENANT) {
        if tenant.is_some_and(|tenant| is_all(&head.headers, name, tenant)) {
            return;
        }
        head.headers.remove(name);
    }
    if let Some(tenant) = tenant.and_then(|tenant| HeaderValue::from_str(tenant).ok()) {
        head.say(name.clone(), Cow::Owned(tenant));
    }
}

/// Whether this is said once and nothing else is.
fn is_all(headers: &HeaderMap, name: &HeaderName, value: &str) -> bool {
    let mut lines = headers.get_all(name).iter();
    lines.next().is_some_and(|line| line == value) && lines.next().is_none()
}

fn originate<'a>(journey: &Journey, draft: &Draft, visit: &'a Visit, head: &mut Head<'a>) {
    let headers = &mut head.headers;
    let said = draft.host.as_ref().or_else(|| headers.get(HOST));
    if let (true, Some(host)) = (head.apart, said)
        && !host.is_empty()
    {
        let host = HeaderValue::from_bytes(host.as_bytes());
        let host = host.expect("what is a value can be copied as one");
        return head.more.extend(visit.forwarding.plain(host));
    }
    let said = said.cloned();
    let hop = match is_trusted(journey) {
        true => Hop::Trusted,
        false => Hop::Untrusted,
    };
    if hop == Hop::Trusted && journey.heads.has(Heads::FORWARDED) {
        translate(journey, visit, headers);
    }
    let fields = Fields {
        x_forwarded: true,
        forwarded: journey.heads.has(Heads::FORWARDED)
            && headers.contains_key(http::header::FORWARDED),
    };
    let host = said.as_ref().and_then(|host| host.to_str().ok());
    let host = host.unwrap_or_default();
    visit.forwarding.apply(headers, host, hop, fields);
}

/// Whether the other end of the socket is believed.
fn is_trusted(journey: &Journey) -> bool {
    journey.caller.as_ref().is_some_and(|caller| caller.trusted)
}

/// What a trusted hop said in `Forwarded` alone is said in the other headers too: most upstreams read only those.
fn translate(journey: &Journey, visit: &Visit, headers: &mut HeaderMap) {
    if Trail::of(headers) == Trail::XForwardedFor {
        return;
    }
    let hop = visit.peer.ip().to_canonical();
    let address = journey.caller.as_ref().map(|caller| caller.address);
    // The hop itself is added behind it, as always.
    let address = address.filter(|address| *address != hop);
    let address = address.and_then(|address| HeaderValue::try_from(address.to_string()).ok());
    let trusted = &journey.plan.trusted;
    let proto = client_proto(headers, trusted).map(HeaderValue::from_static);
    let host = client_host(headers, trusted).and_then(|host| HeaderValue::from_str(host).ok());
    headers.extend(address.map(|address| (X_FORWARDED_FOR, address)));
    for (name, said) in [(X_FORWARDED_PROTO, proto), (X_FORWARDED_HOST, host)] {
        if !headers.contains_key(&name) {
            headers.extend(said.map(|said| (name, said)));
        }
    }
}

/// How long it may take, what it is called, and who passes it on.
fn sign<'a>(
    plan: &'a Plan,
    journey: &Journey,
    route: &'a Route,
    version: Version,
    until: Duration,
    head: &mut Head<'a>,
) {
    let left = until.saturating_sub(journey.seen);
    match journey.heads.has(Heads::DEADLINE) {
        true => deadline::pass_on(&mut head.headers, left, kernel::clock::unix_time),
        false => head.say(deadline::REQUEST_TIMEOUT, route.timeout(left)),
    }
    head.say(request_id::NAME, Cow::Owned(journey.id.value()));
    if journey.heads.has(Heads::TRACE_STATE) && TraceContext::given(&head.headers).is_none() {
        // It is of a trace that nobody can tell.
        head.headers.remove(TRACESTATE);
    }
    if let Some(trace) = journey.trace {
        head.say(TRACEPARENT, Cow::Owned(said_once(trace.value())));
    }
    let node = &plan.shared.node;
    match head.apart {
        true => head.more.push((VIA, Cow::Borrowed(node.via(version)))),
        false => node.sign(&mut head.headers, version),
    }
}

/// What decides where a request goes: the value of a header, or who asks. The number of a tenant is drawn anew by each
/// process and says nothing to another, its name does.
fn hash(caller: Option<&Caller>, header: Option<&HeaderName>, headers: &HeaderMap) -> u64 {
    if let Some(value) = header.and_then(|name| headers.get(name)) {
        return hash_key(value.as_bytes());
    }
    match caller {
        Some(Caller {
            identity: Some(identity),
            ..
        }) => hash_key(identity.tenant.as_bytes()),
        Some(caller) => hash_key(&address_key(caller.address).to_be_bytes()),
        None => 0,
    }
}

#[cfg(test)]
mod tests;
