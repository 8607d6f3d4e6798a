//! The story of a request: from its head to the answer of its upstream, or to a refusal that says why.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use front_door::{InPlace, Upload, Visit};
use http::header::{CONTENT_ENCODING, HOST, HeaderValue};
use http::request::Parts;
use http::{Request, Response};
use http_rules::authority::Authority;
use http_rules::forward::{agrees_to_upgrade, hops_left};
use http_rules::{deadline, framing};
use kernel::fetch::Spot;
use tokio::time::Instant;

use crate::admit::admit;
use crate::backend::Backend;
use crate::body::Answer;
use crate::caller::{self, Caller, Sight};
use crate::heads::Heads;
use crate::intake;
use crate::journey::Journey;
use crate::overstay::while_it_may_stay;
use crate::plan::{Plan, Route, Target};
use crate::policy::Case;
use crate::quota::{self, Standing, Window};
use crate::reject::Refusal;
use crate::rewrite::Misspelled;
use crate::routes::{Found, Question};
use crate::tunnel::{self, Wish};
use crate::{dispatch, outbound, respond, rewrite};

/// The shortest deadline anybody gets: less cannot be kept.
const LEAST_DEADLINE: Duration = Duration::from_millis(1);
/// How long it may take until a body that does not come is seen to be late.
const LAST_WORD: Duration = Duration::from_millis(50);

/// Answers a request. It is taken apart here and lent from here on: it is large, and each owner would copy it.
#[expect(
    clippy::manual_async_fn,
    reason = "an async function keeps room for its arguments beside what it moves them to, a block does not"
)]
pub(crate) fn answer(
    plan: Arc<Plan>,
    request: InPlace<'_>,
    visit: &Visit,
) -> impl Future<Output = Response<Answer>> + Send {
    async move {
        let mut draft = Draft::of(request.take());
        let mut journey = Journey::begin(plan, &draft.parts, visit);
        match travel(&mut journey, &mut draft, visit).await {
            Ok(Arrival::Answer(answer, standing)) => respond::answer(journey, *answer, standing),
            Ok(Arrival::Tunnel(ends, standing)) => tunnel::open(journey, *ends, standing),
            Ok(Arrival::Elsewhere(response)) => respond::done(journey, *response),
            Err(refusal) => respond::refusal(journey, refusal),
        }
    }
}

/// How a request arrives. Answers are boxed: they are handed on many times.
pub(crate) enum Arrival {
    Answer(Box<Response<upstream::Reply>>, Option<Standing>),
    Tunnel(Box<tunnel::Ends>, Option<Standing>),
    Elsewhere(Box<Response<Answer>>),
}

/// The way, step by step; each may end it. Nothing here costs more than looking, until the request is admitted.
async fn travel(
    journey: &mut Journey,
    draft: &mut Draft,
    visit: &Visit,
) -> Result<Arrival, Refusal> {
    let plan = journey.plan.plan();
    let parts = &draft.parts;
    let authority = read(parts, draft.path, visit, &plan, journey.heads)?;
    if is_about_all(parts) {
        return Ok(respond::nothing_said());
    }
    let route = find(&plan, &authority, parts)?;
    journey.route = Some(route.clone());
    let until = journey.began + patience(route, parts, journey.heads);
    let who = Sight {
        parts,
        visit,
        from: journey.from,
        heads: journey.heads,
        now: journey.began,
    };
    let caller = caller::recognise(&plan, who, route.identity_required)?;
    let caller = &*journey.caller.insert(caller);
    caller.believes(parts)?;
    let lent = lent_bytes(caller);
    let most_bytes = lent.min(route.body_bytes);
    let upload = draft.upload.as_ref();
    let length = upload.map(|upload| intake::announced(upload, most_bytes));
    let length = length.transpose()?.flatten();
    permit(&plan, route, &authority, caller, parts, length)?;
    let standing = charge(&plan, route, caller, journey.began)?;
    if journey.heads.has(Heads::HOPS) && hops_left(&parts.method, &parts.headers) == Some(0) {
        return Ok(respond::nothing_said());
    }
    let backend = match &route.target {
        Target::Upstreams(split) => {
            let hasty = route.is_hasty(until.saturating_sub(journey.began));
            split.choose(|| fastrand::u64(..), hasty)
        }
        Target::Redirect(redirect) => {
            return respond::elsewhere(route, redirect, &authority, parts, standing);
        }
    };
    let host = own_host(&authority, parts);
    (draft.host, draft.length) = (host, length);
    (draft.most_bytes, draft.most_decoded) = (most_bytes, lent);
    let left = until.saturating_sub(journey.began);
    let spot = Spot::of(journey);
    let arrived = {
        let on_time = pin!(proceed(&plan, journey, backend, route, draft, visit, until));
        in_time(
            on_time,
            spot,
            visit,
            left,
            plan.shared.timeline.instant(until),
        )
        .await
    };
    match arrived {
        Some(arrived) => arrived.map(|arrival| arrival.with(standing)),
        None => Err(journey.too_late()),
    }
}

/// What comes of it until then, which is so far away. It stays where it is: moving it into a timeout would copy all it
/// will ever hold. The timer is made when the time comes near, which nearly none lives to see.
async fn in_time<F: Future>(
    mut work: Pin<&mut F>,
    needed: Spot<Journey>,
    visit: &Visit,
    left: Duration,
    until: Instant,
) -> Option<F::Output> {
    let mut reminded = None;
    let mut late = pin!(None);
    poll_fn(|cx| {
        needed.fetch();
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(done));
        }
        let reminder = &visit.reminder;
        if *reminded.get_or_insert_with(|| reminder.set(left)) && !reminder.has_come(cx) {
            return Poll::Pending;
        }
        if late.is_none() {
            late.set(Some(tokio::time::sleep_until(until)));
        }
        let late = late.as_mut().as_pin_mut();
        late.map_or(Poll::Pending, |late| late.poll(cx).map(|()| None))
    })
    .await
}

/// Waits for its turn, takes in what it brings, and sends it on.
async fn proceed(
    plan: &Arc<Plan>,
    journey: &mut Journey,
    backend: &Arc<Backend>,
    route: &Arc<Route>,
    draft: &mut Draft,
    visit: &Visit,
    until: Duration,
) -> Result<Arrival, Refusal> {
    let asks = journey.heads.has(Heads::UPGRADE);
    let wish = asks.then(|| Wish::of(&mut draft.parts)).flatten();
    if wish.is_some() || journey.heads.has(Heads::EVENTS) {
        journey.may_become_stream()?;
    }
    admit(journey, backend, route, until, draft.brings_more()).await?;
    let by = latest_end(journey.seen, until);
    let by = plan.shared.timeline.instant(by);
    let mut waited = false;
    let payload = {
        let mut body = pin!(intake::take_in(draft, backend, route, by));
        poll_fn(|cx| {
            let taken = body.as_mut().poll(cx);
            if taken.is_pending() && !std::mem::replace(&mut waited, true) {
                journey.waits_for_body()?;
            }
            taken
        })
        .await?
    };
    if waited {
        journey.has_body();
        Box::pin(admit(journey, backend, route, until, false)).await?;
    }
    let verdict = payload.verdict.clone();
    let mut call = outbound::call(
        journey,
        draft,
        payload,
        wish.as_ref(),
        (plan, backend, route),
        visit,
        until,
    )?;
    journey.sent();
    let workers = plan.shared.workers();
    let sent = match (&verdict, workers) {
        (None, None) => call.send().await,
        (None, Some(workers)) => Box::pin(dispatch::by_worker(workers, call)).await,
        (Some(upload), None) => {
            let sent = Box::pin(call.send());
            Box::pin(while_it_may_stay(upload, journey, sent)).await?
        }
        (Some(upload), Some(workers)) => {
            let sent = Box::pin(dispatch::by_worker(workers, call));
            Box::pin(while_it_may_stay(upload, journey, sent)).await?
        }
    };
    journey.tries = sent.tries;
    journey.tried_in_vain(sent.connecting);
    let mut answer = sent.answer?;
    journey.headed(answer.status().as_u16(), answer.body().timing());
    if let Some(verdict) = verdict {
        journey.sends_on(verdict);
    }
    match (wish, answer.body_mut().take_switched()) {
        // Its client would take what follows for the protocol it asked for.
        (Some(wish), Some(_)) if !agrees_to_upgrade(answer.headers(), &wish.protocol) => {
            Err(Refusal::UpstreamGarbage)
        }
        (Some(wish), Some(switched)) => {
            let headers = std::mem::take(answer.headers_mut());
            Ok(Arrival::Tunnel(wish.granted(switched, headers), None))
        }
        _ => Ok(Arrival::Answer(answer, None)),
    }
}

impl Arrival {
    fn with(self, standing: Option<Standing>) -> Self {
        match self {
            Arrival::Answer(answer, _) => Arrival::Answer(answer, standing),
            Arrival::Tunnel(ends, _) => Arrival::Tunnel(ends, standing),
            other => other,
        }
    }
}

/// A request that was let in, in parts.
pub(crate) struct Draft {
    pub(crate) parts: Parts,
    /// Whether all servers read its path in the same way.
    path: Result<(), Misspelled>,
    pub(crate) upload: Option<Upload>,
    /// The one authority it was made for, where its `Host` does not say it.
    pub(crate) host: Option<HeaderValue>,
    pub(crate) length: Option<u64>,
    pub(crate) most_bytes: u64,
    /// The same of the body as its route decodes it.
    pub(crate) most_decoded: u64,
}

impl Draft {
    /// Whether more of its body is to come than is waited for without a place.
    fn brings_more(&self) -> bool {
        let comes = |upload: &Upload| !http_body::Body::is_end_stream(upload);
        self.length
            .is_some_and(|length| length > intake::KEPT_BYTES)
            && self.upload.as_ref().is_some_and(comes)
    }

    /// What its body may be is not known yet.
    fn of(request: Request<Upload>) -> Self {
        let (mut parts, upload) = request.into_parts();
        let path = rewrite::spell(&mut parts.uri);
        Self {
            parts,
            path,
            upload: Some(upload),
            host: None,
            length: None,
            most_bytes: 0,
            most_decoded: 0,
        }
    }
}

/// The authority, where the `Host` header does not say the same already. Who says none is sent on to an endpoint under
/// the endpoint's own.
fn own_host(authority: &Authority<'_>, parts: &Parts) -> Option<HeaderValue> {
    // Only then it can be from anywhere else.
    parts.uri.authority()?;
    let said = parts.headers.get(HOST);
    let same = said.is_some_and(|host| host.as_bytes() == authority.text.as_bytes());
    // What was checked as an authority is always a value.
    let own = || HeaderValue::from_str(authority.text).ok();
    (!same).then(own).flatten()
}

/// The head can be read in one way only, and is meant for us.
fn read<'a>(
    parts: &'a Parts,
    path: Result<(), Misspelled>,
    visit: &Visit,
    plan: &Plan,
    heads: Heads,
) -> Result<Authority<'a>, Refusal> {
    let checked = framing::check(parts).map_err(Refusal::Framing)?;
    if checked.dotted
        && parts
            .headers
            .keys()
            .any(|name| plan.own_names.has_alias(name))
    {
        return Err(Refusal::Framing(framing::Bad::Alias));
    }
    if !is_about_all(parts) {
        path?;
    }
    let named = visit
        .tls
        .as_ref()
        .and_then(|tls| tls.server_name.as_deref());
    if named.is_some_and(|named| !named.eq_ignore_ascii_case(&checked.authority.host)) {
        return Err(Refusal::Misdirected);
    }
    if heads.has(Heads::PASSED) && plan.shared.node.has_passed(&parts.headers) {
        return Err(Refusal::Loop);
    }
    Ok(checked.authority)
}

/// Whether it is `OPTIONS *`, about a server as a whole: there are many behind, and only this one is meant.
fn is_about_all(parts: &Parts) -> bool {
    parts.uri.path() == "*"
}

fn find<'p>(
    plan: &'p Plan,
    authority: &Authority<'_>,
    parts: &Parts,
) -> Result<&'p Arc<Route>, Refusal> {
    let question = Question {
        host: &authority.host,
        path: parts.uri.path(),
        method: &parts.method,
        headers: &parts.headers,
    };
    match plan.router.find(question) {
        Found::Route(route) => Ok(route),
        Found::OtherMethod(allowed) => Err(Refusal::OtherMethod(allowed)),
        Found::Nothing => Err(Refusal::NoRoute),
    }
}

/// How long it may take until the answer begins: what the caller asks for, at most what the route allows.
fn patience(route: &Route, parts: &Parts, heads: Heads) -> Duration {
    if !heads.has(Heads::DEADLINE) {
        return route.deadline;
    }
    let bounds = deadline::Bounds {
        least: LEAST_DEADLINE.min(route.deadline),
        most: route.deadline,
    };
    deadline::budget(&parts.headers, bounds, kernel::clock::unix_time)
}

/// Bytes that the credential lets a body have, in any coding.
fn lent_bytes(caller: &Caller) -> u64 {
    let identity = caller.identity.as_ref();
    let most = identity.and_then(|identity| identity.limits.body_bytes_max());
    most.unwrap_or(u64::MAX)
}

fn permit(
    plan: &Plan,
    route: &Route,
    authority: &Authority<'_>,
    caller: &Caller,
    parts: &Parts,
    length: Option<u64>,
) -> Result<(), Refusal> {
    if let Some(identity) = &caller.identity
        && identity
            .limits
            .admit(parts.method.as_str(), parts.uri.path(), length)
            .is_err()
    {
        return Err(Refusal::BeyondCredential);
    }
    let Some(policy) = &plan.policy else {
        return Ok(());
    };
    let permitted = policy.permits(Case {
        route: &route.name,
        method: &parts.method,
        host: &authority.host,
        tenant: caller.tenant(),
        tags: caller
            .identity
            .as_ref()
            .map_or(&[], |identity| &identity.tags),
        body: length.filter(|length| *length == 0 || !is_decoded(route, parts)),
    });
    match permitted {
        true => Ok(()),
        false => Err(Refusal::Forbidden),
    }
}

/// Whether it is sent on longer than it comes, by nobody knows how much.
fn is_decoded(route: &Route, parts: &Parts) -> bool {
    route.decode && parts.headers.contains_key(CONTENT_ENCODING)
}

/// One request of every rate that holds for it, or of none.
fn charge(
    plan: &Plan,
    route: &Route,
    caller: &Caller,
    now: Duration,
) -> Result<Option<Standing>, Refusal> {
    let quotas = &plan.quotas;
    let own = caller.terms(plan).and_then(|terms| terms.rate.as_deref());
    let tenant = own.or(quotas.per_tenant.as_deref());
    let window = |rated: Option<_>, key| rated.map(|rated| Window { rated, key });
    let address = quota::address_key(caller.address);
    let windows = [
        window(quotas.per_address.as_deref(), address),
        window(tenant, caller.key),
        window(route.rate.as_deref(), 0),
        window(quotas.everybody.as_deref(), 0),
    ];
    quota::take(&windows, now).map_err(Refusal::OverRate)
}

/// When a body is too late: early enough to say so before the deadline says something else.
fn latest_end(now: Duration, until: Duration) -> Duration {
    until.saturating_sub(LAST_WORD.min(until.saturating_sub(now) / 4))
}

#[cfg(test)]
mod tests;
