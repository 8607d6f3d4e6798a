//! A config made ready to be followed: one whole snapshot, which each request holds from its head to its end.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use fair_queue::Class;
use hashbrown::HashMap;
use http::{HeaderName, HeaderValue, StatusCode};
use http_rules::deadline;
use ipnet::IpNet;
use passport::Verifier;

use crate::backend::{Backend, Renewal};
use crate::config::{AccessLevel, ClassName, GatewayText, IdentityText, RouteText, UpstreamText};
use crate::gates::RouteGate;
use crate::keys::Keys;
use crate::labels::{Label, ROUTES};
use crate::metrics::RouteMetrics;
use crate::own_names::{KEY_HEADER, OwnNames, TENANT_HEADER};
use crate::policy::Policy;
use crate::quota::{Quotas, Rated, Whose};
use crate::rewrite::{Edits, Redirect, Rewrite};
use crate::routes::{Matcher, MatcherError, Router};
use crate::shared::Shared;
use crate::split::Split;
use crate::streams::Most;

/// A config made ready.
pub(crate) struct Plan {
    pub(crate) shared: Arc<Shared>,
    pub(crate) router: Router<Arc<Route>>,
    pub(crate) backends: Vec<Arc<Backend>>,
    pub(crate) tenants: HashMap<String, Terms>,
    pub(crate) quotas: Arc<Quotas>,
    pub(crate) verifier: Option<Arc<Verifier>>,
    /// The keys of tokens, if any are accepted.
    pub(crate) keys: Option<Arc<Keys>>,
    pub(crate) policy: Option<Policy>,
    pub(crate) trusted: Vec<IpNet>,
    pub(crate) tenant_header: Option<HeaderName>,
    /// Without keys it is the upstream's, whatever it is called.
    pub(crate) key_header: Option<HeaderName>,
    pub(crate) own_names: OwnNames,
    pub(crate) access_log: AccessLevel,
    pub(crate) inflight: u32,
    pub(crate) streams: Most,
    pub(crate) upstream_patience: Duration,
    /// What it was made from.
    pub(crate) text: GatewayText,
}

/// What is known of a tenant.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) class: Class,
    /// As configured, until an operator says otherwise.
    pub(crate) weight: AtomicU32,
    pub(crate) rate: Option<Arc<Rated>>,
}

/// A route made ready.
pub(crate) struct Route {
    pub(crate) name: String,
    /// Its place in the config.
    pub(crate) index: usize,
    pub(crate) target: Target,
    pub(crate) rewrite: Rewrite,
    pub(crate) host: Option<HeaderValue>,
    pub(crate) request_edits: Edits,
    pub(crate) response_edits: Edits,
    /// What no trailer of a request says.
    pub(crate) request_names: OwnNames,
    /// What no trailer of an answer says.
    pub(crate) answer_names: OwnNames,
    pub(crate) deadline: Duration,
    /// The same as upstreams are told of it: nearly every request has all of its time left.
    timeout: HeaderValue,
    pub(crate) body_bytes: u64,
    pub(crate) decode: bool,
    pub(crate) cost: u64,
    pub(crate) gate: Option<RouteGate>,
    pub(crate) rate: Option<Arc<Rated>>,
    pub(crate) identity_required: bool,
    pub(crate) retry: Retry,
    pub(crate) label: Label,
    pub(crate) metrics: RouteMetrics,
}

impl Route {
    /// Who gives an upstream as much time as this gives it all: a gateway before this one, with the same deadline, has
    /// spent a little of it.
    pub(crate) fn enough(&self) -> Duration {
        self.deadline / 10 * 9
    }

    /// Whether who gives this much time gives less.
    pub(crate) fn is_hasty(&self, left: Duration) -> bool {
        left < self.enough()
    }
}

/// Where a route leads.
pub(crate) enum Target {
    /// To one upstream, or to several by weight.
    Upstreams(Split),
    Redirect(Redirect),
}

/// When a request is tried again.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) tries: u32,
    pub(crate) on_status: Vec<StatusCode>,
    pub(crate) idempotency_key: bool,
}

impl Plan {
    /// Makes a config ready. What it names like the one before keeps its state, and is renewed when the plan holds.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        text: &GatewayText,
        before: Option<&Plan>,
    ) -> Result<(Self, Vec<Renewal>), String> {
        // What another config would have had rendered, had it not come to nothing.
        before.inspect(|before| before.show());
        let (backends, renewals) = Backend::all(shared, text, before)?;
        let text = with_shorthand(text);
        let (verifier, keys) = identities(shared, &text.identity, before)?;
        let now = shared.timeline.now();
        let quotas = Quotas::new(&text.quota, before.map(|before| &*before.quotas), now);
        let routes = text.routes.iter().enumerate();
        let names: Vec<String> = routes.map(|(at, route)| route_name(at, route)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let had = |name: &str| Some(before?.route(name)?.label);
        let labels = shared.metrics.labels(&names, ROUTES, had);
        let routes: Result<Vec<_>, String> = text
            .routes
            .iter()
            .enumerate()
            .zip(labels)
            .map(|((index, route), label)| {
                let matcher = Matcher::compile(route).map_err(MatcherError::together)?;
                let made = Route::new(shared, &text, (index, label), route, &backends, before)?;
                Ok((matcher, Arc::new(made)))
            })
            .collect();
        let plan = Self {
            shared: shared.clone(),
            router: Router::new(routes?),
            tenants: tenants(&text, before, now),
            quotas: Arc::new(quotas),
            verifier,
            keys,
            policy: text.policy.as_ref().map(Policy::load).transpose()?,
            trusted: text.trusted(),
            tenant_header: parsed(text.identity.tenant_header.as_deref()),
            key_header: key_header(&text.identity),
            own_names: OwnNames::of(&text),
            access_log: text.access_log.level,
            inflight: text.limits.inflight,
            streams: Most {
                of_tenant: text.limits.streams_per_tenant,
                in_all: text.limits.streams_in_all,
            },
            upstream_patience: Duration::from_millis(text.timeouts.upstream_ms),
            backends,
            text,
        };
        Ok((plan, renewals))
    }

    /// Lets what was there before follow this plan.
    pub(crate) fn renew(&self, renewals: Vec<Renewal>) {
        for renewal in renewals {
            renewal.apply(&self.text.classes);
        }
        for gate in self.gates() {
            gate.renew();
        }
    }

    /// Has metrics rendered for its names and no others.
    pub(crate) fn show(&self) {
        let routes = self.router.targets().map(|route| route.label);
        let upstreams = self.backends.iter().map(|backend| backend.label);
        self.shared.metrics.show(routes, upstreams);
    }

    /// What upstreams are told the tenant in, and trusted hops tell it in where the config says so.
    pub(crate) fn tenant_header(&self) -> &HeaderName {
        self.tenant_header.as_ref().unwrap_or(&TENANT_HEADER)
    }

    /// An upstream by name.
    pub(crate) fn backend(&self, name: &str) -> Option<&Arc<Backend>> {
        self.backends.iter().find(|backend| backend.name == name)
    }

    /// The limit that was found for the same endpoints, whatever their upstream is called.
    pub(crate) fn found_for(&self, upstream: &UpstreamText) -> Option<u32> {
        let mut named = self.text.upstreams.iter();
        let (name, _) = named.find(|(_, known)| known.endpoints == upstream.endpoints)?;
        let slots = &self.backend(name)?.body.slots;
        slots.finds_limit().then(|| slots.limit())
    }

    /// The gates of its routes.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &RouteGate> {
        self.router
            .targets()
            .filter_map(|route| route.gate.as_ref())
    }

    fn route(&self, name: &str) -> Option<&Arc<Route>> {
        self.router.targets().find(|route| route.name == name)
    }
}

type Identities = (Option<Arc<Verifier>>, Option<Arc<Keys>>);

fn identities(
    shared: &Shared,
    text: &IdentityText,
    before: Option<&Plan>,
) -> Result<Identities, String> {
    let known = before.and_then(|before| Some((&before.text.identity, before.verifier.as_ref()?)));
    let verifier = crate::caller::verifier(text, &shared.seed, known)?;
    let (Some(jwt), Some(new)) = (&text.jwt, &verifier) else {
        return Ok((verifier, None));
    };
    let now = shared.timeline.now();
    let known = before.and_then(|before| before.keys.as_ref().zip(before.verifier.as_ref()));
    let keys = match known {
        Some((keys, old)) if Arc::ptr_eq(old, new) && keys.are_by(jwt) => keys.clone(),
        Some((keys, old)) => keys.renewed(jwt, (old, new), now),
        None => Keys::new(jwt, now),
    };
    Ok((verifier, Some(keys)))
}

/// What a route is called in metrics, log and policy.
pub(crate) fn route_name(index: usize, text: &RouteText) -> String {
    let own = text.name.clone();
    own.unwrap_or_else(|| format!("route-{index}"))
}

/// `to` written out as the upstream and the route it is short for.
pub(crate) fn with_shorthand(text: &GatewayText) -> GatewayText {
    let mut text = text.clone();
    if text.to.is_some() {
        let taken = text
            .routes
            .iter()
            .any(|route| route.name.as_deref() == Some("main"));
        text.routes.push(RouteText {
            name: (!taken).then(|| "main".to_owned()),
            upstream: Some("main".to_owned()),
            ..RouteText::default()
        });
    }
    text
}

/// The header of API keys, where there are any.
fn key_header(identity: &IdentityText) -> Option<HeaderName> {
    let usual = || KEY_HEADER.clone();
    let name = parsed(identity.key_header.as_deref()).unwrap_or_else(usual);
    (!identity.keys.is_empty()).then_some(name)
}

fn parsed(name: Option<&str>) -> Option<HeaderName> {
    name.and_then(|name| name.parse().ok())
}

fn tenants(text: &GatewayText, before: Option<&Plan>, now: Duration) -> HashMap<String, Terms> {
    let terms = |(name, tenant): (&String, &crate::config::TenantText)| {
        let known = before.and_then(|before| before.tenants.get(name)?.rate.as_ref());
        let rate = tenant.rate.as_ref();
        let terms = Terms {
            class: class(tenant.class),
            weight: AtomicU32::new(tenant.weight),
            rate: rate.map(|rate| Rated::of_one(rate, Whose::Tenant, known, now)),
        };
        (name.clone(), terms)
    };
    text.tenants.iter().map(terms).collect()
}

/// The class as the fair queue knows it.
pub(crate) fn class(name: ClassName) -> Class {
    match name {
        ClassName::Anon => Class::ANON,
        ClassName::Authed => Class::AUTHED,
        ClassName::Internal => Class::INTERNAL,
    }
}

impl Route {
    /// What an upstream is told of the time that is left.
    pub(crate) fn timeout(&self, left: Duration) -> Cow<'_, HeaderValue> {
        match left == self.deadline {
            true => Cow::Borrowed(&self.timeout),
            false => Cow::Owned(deadline::request_timeout(left)),
        }
    }

    fn new(
        shared: &Shared,
        gateway: &GatewayText,
        (index, label): (usize, Label),
        text: &RouteText,
        backends: &[Arc<Backend>],
        before: Option<&Plan>,
    ) -> Result<Self, String> {
        let name = route_name(index, text);
        let known = before.and_then(|before| before.route(&name));
        let rated = known.and_then(|route| route.rate.as_ref());
        let now = shared.timeline.now();
        let deadline = text.deadline_ms.unwrap_or(gateway.timeouts.request_ms);
        let deadline = Duration::from_millis(deadline);
        let statuses = text.retry.on_status.iter();
        // A redirect takes no body in: where it leads there may be room for more.
        let usual_bytes = match text.redirect {
            Some(_) => u64::MAX,
            None => gateway.limits.body_bytes,
        };
        Ok(Self {
            index,
            target: target(text, backends)?,
            rewrite: Rewrite::compile(text)?,
            host: text
                .upstream_host
                .as_ref()
                .and_then(|host| host.parse().ok()),
            request_edits: Edits::of_requests(text),
            response_edits: Edits::of_responses(text),
            request_names: OwnNames::of_requests(gateway, text),
            answer_names: OwnNames::of_answers(text),
            timeout: shared_value(deadline::request_timeout(deadline)),
            deadline,
            body_bytes: text.body_bytes.unwrap_or(usual_bytes),
            decode: text.decode,
            cost: text.cost.unwrap_or(1),
            gate: shared.gates.of(&name, text, shared.timeline.now())?,
            rate: text
                .rate
                .map(|rate| Rated::of_one(&rate, Whose::Route, rated, now)),
            identity_required: text.identity.unwrap_or(gateway.identity.required),
            retry: Retry {
                tries: text.retry.tries,
                on_status: statuses
                    .filter_map(|code| StatusCode::from_u16(*code).ok())
                    .collect(),
                idempotency_key: text.retry.idempotency_key,
            },
            label,
            metrics: shared
                .metrics
                .route(label, known.map(|known| &known.metrics)),
            name,
        })
    }
}

/// A copy of a value that was copied before allocates nothing.
fn shared_value(value: HeaderValue) -> HeaderValue {
    let _first_copy = value.clone();
    value
}

fn target(text: &RouteText, backends: &[Arc<Backend>]) -> Result<Target, String> {
    let named = |name: &str| {
        let found = backends.iter().find(|backend| backend.name == name);
        found
            .cloned()
            .ok_or_else(|| format!("there is no upstream `{name}`"))
    };
    if let Some(redirect) = Redirect::compile(text)? {
        return Ok(Target::Redirect(redirect));
    }
    if let Some(name) = &text.upstream {
        return Ok(Target::Upstreams(Split::new(
            [(1, named(name)?)].into_iter(),
        )));
    }
    let parts: Result<Vec<_>, String> = text
        .split
        .iter()
        .map(|part| Ok((part.weight, named(&part.upstream)?)))
        .collect();
    match parts? {
        parts if parts.is_empty() => Err("a route leads nowhere".to_owned()),
        parts => Ok(Target::Upstreams(Split::new(parts.into_iter()))),
    }
}
