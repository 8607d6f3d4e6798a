//! A request as its upstream sees it: what is ours to say is said anew, what was for us alone is gone.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use front_door::Visit;
use http::header::{HOST, HeaderMap};
use http::uri::Uri;
use http::{HeaderName, HeaderValue, Version};
use http_rules::deadline;
use http_rules::forward::{Fields, Hop, join_cookies, request_upgrade, strip_hop_by_hop};
use http_rules::request_id;
use http_rules::trace::TRACEPARENT;

use crate::backend::Backend;
use crate::forward::Call;
use crate::heads::Heads;
use crate::intake::Taken;
use crate::journey::Journey;
use crate::plan::{Plan, Route};
use crate::request::Draft;
use crate::tunnel::Wish;

/// What upstreams are told the tenant in, unless the config names a header of its own.
static TENANT: HeaderName = HeaderName::from_static("x-tenant");

/// The request that is sent on.
pub(crate) fn call(
    journey: &Journey,
    draft: &mut Draft,
    taken: Taken,
    wish: Option<&Wish>,
    (backend, route): (&Arc<Backend>, &Arc<Route>),
    visit: &Visit,
    until: Duration,
) -> Call {
    let (plan, heads) = (&journey.plan, journey.heads);
    let mut headers = std::mem::take(&mut draft.parts.headers);
    let hash = hash(plan, journey, backend, &headers);
    if heads.has(Heads::HOP_BY_HOP) {
        strip_hop_by_hop(&mut headers);
    }
    if draft.parts.version == Version::HTTP_2 {
        join_cookies(&mut headers);
    }
    if let Some(wish) = wish {
        request_upgrade(&mut headers, wish.protocol.clone());
    }
    identify(plan, journey, &mut headers);
    originate(journey, draft, visit, &mut headers);
    let left = until.saturating_sub(journey.now());
    match heads.has(Heads::DEADLINE) {
        true => deadline::pass_on(&mut headers, left, kernel::clock::unix_time),
        false => set(
            &mut headers,
            deadline::REQUEST_TIMEOUT,
            Some(deadline::request_timeout(left)),
        ),
    }
    set(&mut headers, request_id::NAME, Some(journey.id.clone()));
    set(&mut headers, TRACEPARENT, journey.trace.clone());
    plan.shared.node.sign(&mut headers, draft.parts.version);
    let own = draft
        .host
        .as_ref()
        .and_then(|host| HeaderValue::from_str(host).ok());
    set(&mut headers, HOST, route.host.clone().or(own));
    route.request_edits.apply(&mut headers);
    let path = route.rewrite.apply(&draft.parts.uri);
    Call {
        backend: backend.clone(),
        route: route.clone(),
        method: draft.parts.method.clone(),
        uri: path.map(Uri::from).unwrap_or_default(),
        headers,
        payload: taken.payload,
        verdict: taken.verdict,
        until: plan.shared.timeline.instant(until),
        hash,
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: Option<HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value);
    }
}

/// The tenant as it was verified, never as it was claimed; keys meant for us go no further.
fn identify(plan: &Plan, journey: &Journey, headers: &mut HeaderMap) {
    if plan.verifier.is_none() {
        return;
    }
    let name = plan.tenant_header.as_ref().unwrap_or(&TENANT);
    headers.remove(name);
    if journey.heads.has(Heads::CREDENTIAL) {
        headers.remove(&plan.key_header);
    }
    let tenant = journey.caller.as_ref().and_then(|caller| caller.tenant());
    let tenant = tenant.and_then(|tenant| HeaderValue::from_str(tenant).ok());
    set(headers, name.clone(), tenant);
}

fn originate(journey: &Journey, draft: &Draft, visit: &Visit, headers: &mut HeaderMap) {
    let trusted = journey.caller.as_ref().is_some_and(|caller| caller.trusted);
    let hop = match trusted {
        true => Hop::Trusted,
        false => Hop::Untrusted,
    };
    let fields = Fields {
        x_forwarded: true,
        forwarded: journey.heads.has(Heads::FORWARDED)
            && headers.contains_key(http::header::FORWARDED),
    };
    let said = headers.get(HOST).cloned();
    let said = said.as_ref().and_then(|host| host.to_str().ok());
    let host = draft.host.as_deref().or(said).unwrap_or_default();
    visit.forwarding.apply(headers, host, hop, fields);
}

/// What decides where a request goes, where the upstream chooses by that.
fn hash(plan: &Plan, journey: &Journey, backend: &Backend, headers: &HeaderMap) -> Option<u64> {
    if !backend.hashes {
        return None;
    }
    let named = backend
        .hash_header
        .as_ref()
        .and_then(|name| headers.get(name));
    let own = journey.caller.as_ref().map_or(0, |caller| caller.key);
    Some(named.map_or(own, |value| plan.shared.hasher.hash_one(value.as_bytes())))
}
