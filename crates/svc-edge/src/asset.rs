//! The story of a tile or asset: what is asked for, where it is, in which form, and how much of it is sent.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use front_door::{Upload, Visit};
use http::header::ORIGIN;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response};
use http_body::Body;
use http_body_util::Limited;
use http_rules::authority::Authority;
use http_rules::{framing, path, request_id};
use tokio::time::Instant;

use crate::body::EdgeBody;
use crate::config::AccessLevel;
use crate::plan::Plan;
use crate::reject::Refusal;
use crate::representation::{Facts, Representation};
use crate::respond::{self, Asked};
use crate::shared::Shared;
use crate::tilejson::{self, Base};
use crate::wish::{self, Wish};
use crate::{cas, cors, preview, raw, tiles};

/// Answers a request.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    plan: &Plan,
    request: Request<Upload>,
    visit: &Visit,
) -> Response<EdgeBody> {
    let began = shared.timeline.now();
    let (parts, upload) = request.into_parts();
    let mut kind = wish::OTHER;
    let served = serve(shared, plan, &parts, upload, visit, (began, &mut kind)).await;
    let mut answer = served.unwrap_or_else(|refusal| {
        shared.metrics.refused(&refusal);
        let id = id(&parts);
        log_refusal(plan, &parts, visit, &refusal, &id);
        respond::refusal(&refusal, id).map(EdgeBody::whole)
    });
    plan.cors
        .permit(parts.headers.get(ORIGIN), answer.headers_mut());
    let took = shared.timeline.now().saturating_sub(began);
    shared
        .metrics
        .answered(kind, answer.status().as_u16(), took);
    log(plan, &parts, visit, &answer, took);
    answer
}

/// The way, step by step; each may end it. What is ready in memory never waits for anything.
async fn serve(
    shared: &Arc<Shared>,
    plan: &Plan,
    parts: &Parts,
    upload: Upload,
    visit: &Visit,
    (began, kind): (Duration, &mut usize),
) -> Result<Response<EdgeBody>, Refusal> {
    let authority = read(parts, visit)?;
    fits(plan, &upload)?;
    plan.charge(began)?;
    if shared.pressure.is_high() {
        return Err(Refusal::MemoryFull);
    }
    let place = shared.enter(plan.text.limits.inflight);
    let place = Some(place.ok_or(Refusal::NodeBusy)?);
    let path = parts.uri.path();
    if path == "*" {
        return Ok(plan.cors.options(&parts.headers));
    }
    let wish = Wish::of(path);
    if let (Err(Refusal::NotFound), Some(mount)) = (&wish, shared.origins.find(path)) {
        *kind = wish::ORIGIN;
        let upload = Limited::new(upload, plan.body_bytes());
        // It has deadlines of its own: one for each try, and for each piece of what comes.
        let answer = Box::pin(shared.origins.answer(&mount, parts, upload)).await?;
        return Ok(answer.map(|body| body.keeping(place)));
    }
    let wish = wish?;
    *kind = wish.kind();
    if parts.method == Method::OPTIONS {
        return Ok(plan.cors.options(&parts.headers));
    }
    if !cors::reads(&parts.method) {
        return Err(Refusal::OtherMethod);
    }
    let asked = Asked {
        parts,
        now: kernel::clock::unix_time().as_secs(),
    };
    let story = pin!(fulfil(shared, plan, wish, asked, &authority, visit));
    let late = shared.timeline.instant(began + plan.patience);
    let answer = in_time(story, late).await.ok_or(Refusal::Timeout)??;
    Ok(answer.map(|body| body.keeping(place)))
}

/// Finds what is asked for, and sends of it what is wanted.
async fn fulfil(
    shared: &Arc<Shared>,
    plan: &Plan,
    wish: Wish<'_>,
    asked: Asked<'_>,
    authority: &Authority<'_>,
    visit: &Visit,
) -> Result<Response<EdgeBody>, Refusal> {
    let disk = &shared.disk;
    match wish {
        Wish::Tile {
            pack,
            at,
            extension,
        } => {
            let mounted = shared.catalogue.find(pack)?;
            if extension.is_some_and(|extension| !mounted.is_of_kind(extension)) {
                return Err(Refusal::OtherKind);
            }
            match tiles::find(shared, plan, &mounted, at, &asked.parts.headers).await? {
                Some(tile) => respond::representation(asked, &tile, disk).await,
                None => Ok(respond::nothing(&plan.cache)),
            }
        }
        Wish::TileJson(name) => {
            let mounted = shared.catalogue.find(name)?;
            let own = || Base::asked(visit, authority);
            let base = plan.base.clone().unwrap_or_else(own);
            let json = tilejson::whole(&base, name, mounted.extension, &mounted.tail);
            let json = Representation::of_bytes(json, Facts::json(plan.cache.clone()));
            respond::representation(asked, &json, disk).await
        }
        Wish::Packs => {
            let shelf = shared.catalogue.shelf();
            respond::representation(asked, &shelf.list, disk).await
        }
        Wish::Raw(name) => {
            let mounted = shared.catalogue.find(name)?;
            let whole = raw::of(&mounted, plan)?;
            let answer = respond::representation(asked, &whole, disk).await;
            answer.inspect_err(|refusal| shared.heed(refusal))
        }
        Wish::Object(hash) => {
            let object = cas::find(shared, hash).await?;
            respond::representation(asked, &object, disk).await
        }
        Wish::Preview(name) => {
            shared.catalogue.find(name)?;
            let page = preview::file(preview::PAGE, &asked.parts.headers)?;
            respond::representation(asked, page, disk).await
        }
        Wish::PreviewFile(name) => {
            let file = preview::file(name, &asked.parts.headers)?;
            respond::representation(asked, file, disk).await
        }
    }
}

/// The head can be read in one way only, and is meant for us.
fn read<'a>(parts: &'a Parts, visit: &Visit) -> Result<Authority<'a>, Refusal> {
    let checked = framing::check(parts).map_err(Refusal::Framing)?;
    // `*` is what OPTIONS asks about the whole, and no other method has it.
    if parts.uri.path() != "*" {
        path::check(parts.uri.path().as_bytes()).map_err(Refusal::Path)?;
    }
    let tls = visit.tls.as_ref();
    let named = tls.and_then(|tls| tls.server_name.as_deref());
    if named.is_some_and(|named| !named.eq_ignore_ascii_case(&checked.authority.host)) {
        return Err(Refusal::Misdirected);
    }
    Ok(checked.authority)
}

/// Nothing here reads a body; one that says it is longer than any may be is not even waited for.
fn fits(plan: &Plan, upload: &Upload) -> Result<(), Refusal> {
    match upload.size_hint().lower() > plan.text.limits.body_bytes {
        true => Err(Refusal::BodyTooLarge),
        false => Ok(()),
    }
}

/// What comes of it until then. There is a clock only where something is waited for.
async fn in_time<F: Future>(mut work: Pin<&mut F>, until: Instant) -> Option<F::Output> {
    let mut late = None;
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => {
            let late = late.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
            late.as_mut().poll(cx).map(|()| None)
        }
    })
    .await
}

fn id(parts: &Parts) -> HeaderValue {
    let make = || request_id::make([fastrand::u64(..), fastrand::u64(..)]);
    request_id::given(&parts.headers)
        .cloned()
        .unwrap_or_else(make)
}

fn log_refusal(plan: &Plan, parts: &Parts, visit: &Visit, refusal: &Refusal, id: &HeaderValue) {
    if plan.text.access_log.level == AccessLevel::Off {
        return;
    }
    tracing::info!(
        target: "access",
        id = id.to_str().unwrap_or(""),
        method = %parts.method,
        path = parts.uri.path(),
        client = %visit.peer.ip(),
        status = refusal.status(),
        reason = refusal.reason(),
    );
}

fn log(plan: &Plan, parts: &Parts, visit: &Visit, answer: &Response<EdgeBody>, took: Duration) {
    if plan.text.access_log.level != AccessLevel::All || answer.status().as_u16() >= 400 {
        return;
    }
    tracing::info!(
        target: "access",
        method = %parts.method,
        path = parts.uri.path(),
        client = %visit.peer.ip(),
        status = answer.status().as_u16(),
        bytes = answer.body().size_hint().exact().unwrap_or(0),
        total_ms = took.as_secs_f64() * 1e3,
    );
}
