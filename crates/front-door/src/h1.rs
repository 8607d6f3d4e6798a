//! An HTTP/1 connection: asleep without buffers between requests, awake while it is used.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::header::HeaderMap;
use http::{Response, StatusCode};
use http1_wire::{Framing, Request, Terms, Unreadable, spare};
use kernel::fetch::Spot;

use crate::door::{House, Panicked};
use crate::reply::Whole;
use crate::service::{Fault, InPlace, Service, Visit};
use crate::upload::Upload;
use feed::Feed;
use seat::{Heard, Seat};
use upgrade::Promise;

pub(crate) use mail::{MAIL, Receiver};
pub(crate) use upgrade::UPGRADE;
pub use upgrade::{Upgrade, Upgraded};
pub(crate) use wire::Wire;

mod feed;
mod mail;
mod outbox;
mod seat;
mod sending;
mod upgrade;
mod wire;

/// Serves a connection to its end.
#[expect(
    clippy::manual_async_fn,
    reason = "an async function keeps room for its arguments beside what it moves them to, a block does not"
)]
pub(crate) fn serve<S: Service>(
    house: Arc<House<S>>,
    mut wire: Wire,
) -> impl Future<Output = ()> + Send {
    async move {
        while wire.wakes().await {
            let (line, pulse) = (Spot::of(&*wire.line), Spot::of(&*wire.line.pulse));
            // Boxed: while asleep, the task should not have to keep room for it.
            let mut life = Box::pin(awake(&house, wire));
            // Seen before it begins: from then on it refers to itself, and is nobody else's to refer to.
            let room = Spot::of(&*life);
            let lived = poll_fn(|cx| {
                // Between two wake-ups all others had their turn, and the caches are theirs.
                line.fetch();
                pulse.fetch();
                room.fetch();
                life.as_mut().poll(cx)
            });
            match lived.await {
                Some(tired) => wire = tired,
                None => return,
            }
        }
    }
}

/// What becomes of a connection behind an answer.
enum After {
    /// The next request may come.
    Stays,
    /// It ends; part of the request may still be on its way.
    Ends { unread: bool },
    /// It is HTTP no more.
    Switched(Option<Promise>),
    /// Nobody is there any more.
    Lost,
}

/// The life between two naps; returns the socket if there is to be another.
fn awake<S: Service>(house: &House<S>, wire: Wire) -> impl Future<Output = Option<Wire>> + Send {
    let (line, mut seat) = (wire.line.clone(), Seat::new(wire));
    async move {
        loop {
            let after = match seat.hear().await {
                Heard::Request => exchange(house, &line.visit, &mut seat).await,
                Heard::Unreadable(why) => refuse(house, &line.visit, &mut seat, why).await,
                Heard::Nap => return Some(seat.nap()),
                Heard::Over => After::Ends { unread: false },
                Heard::Lost => After::Lost,
            };
            match after {
                After::Stays => seat.wire.rests(),
                After::Ends { unread } => {
                    let unread = unread || !seat.wire.inbox.is_empty();
                    seat.wire.ends(unread).await;
                    return None;
                }
                After::Switched(promise) => {
                    seat.wire.works();
                    if let Some(promise) = promise {
                        promise.keep(seat.wire.into_upgraded());
                    }
                    return None;
                }
                After::Lost => return None,
            }
        }
    }
}

/// One request and its answer.
#[expect(
    clippy::manual_async_fn,
    reason = "an async function keeps room for its arguments beside what it moves them to, a block does not"
)]
fn exchange<S: Service>(
    house: &House<S>,
    visit: &Visit,
    seat: &mut Seat,
) -> impl Future<Output = After> + Send {
    async move {
        seat.wire.works();
        let (mut feed, mut request, mut promise) = (Feed::none(), None, None);
        // All in one go: what lives across a wait has a place of its own there, and all places are memory to touch.
        let begun = poll_fn(|cx| {
            let upload;
            let head = seat.request.take().expect("a request was heard");
            let terms = head.terms;
            (feed, upload) = Feed::begin(&head, &mut seat.wire, cx);
            promise = assemble(&mut request, head, upload);
            Poll::Ready(terms)
        });
        let terms = begun.await;
        let called = {
            let mut call = pin!(house.call(InPlace::new(&mut request), visit));
            poll_fn(|cx| {
                loop {
                    if let Poll::Ready(answer) = call.as_mut().poll(cx) {
                        return Poll::Ready(Some(answer));
                    }
                    match seat.attend(&mut feed, cx) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(Ok(())) => {}
                        Poll::Ready(Err(feed::Gone)) => return Poll::Ready(None),
                    }
                }
            })
            .await
        };
        // Nobody has taken it, nobody will: its body is not waited for.
        drop(request);
        match called {
            Some(Ok(answer)) => {
                let terms = Terms {
                    keeps: terms.keeps && !house.is_closing(),
                    ..terms
                };
                seat.seal(S::sealed(answer.body()).cloned());
                let after = respond(seat, feed, answer, terms, promise, S::kept_waiting).await;
                seat.seal(None);
                after
            }
            Some(Err(Panicked)) => {
                let refusal = house.service.refuse(Fault::Panic, visit);
                respond(seat, feed, refusal.map(Whole), terms, None, |_| {}).await
            }
            None => After::Lost,
        }
    }
}

/// The request as a service sees it.
fn assemble(
    place: &mut Option<http::Request<Upload>>,
    head: Request,
    upload: Upload,
) -> Option<Promise> {
    let request = place.insert(http::Request::new(upload));
    *request.method_mut() = head.method;
    *request.uri_mut() = head.uri;
    *request.version_mut() = head.version;
    *request.headers_mut() = head.headers;
    head.upgrades.then(|| {
        let (promise, upgrade) = upgrade::promise();
        request.extensions_mut().insert(upgrade);
        promise
    })
}

/// Writes an answer, and waits for what is left of its request.
#[expect(
    clippy::manual_async_fn,
    reason = "an async function keeps room for its arguments beside what it moves them to, a block does not"
)]
fn respond<B>(
    seat: &mut Seat,
    mut feed: Feed,
    answer: Response<B>,
    terms: Terms,
    promise: Option<Promise>,
    kept_waiting: fn(Pin<&mut B>),
) -> impl Future<Output = After> + Send
where
    B: http_body::Body<Data = Bytes> + Send,
{
    async move {
        let (mut parts, body) = answer.into_parts();
        let keeps = poll_fn(|cx| Poll::Ready(feed.answered(&mut seat.wire, cx))).await;
        let terms = Terms {
            keeps: terms.keeps && keeps && !seat.is_leaving(),
            ..terms
        };
        if parts.status.is_informational() && !terms.switches(parts.status) {
            // Nothing final would follow it.
            (parts.status, parts.headers) = (StatusCode::INTERNAL_SERVER_ERROR, HeaderMap::new());
        }
        let told = seat.begin_answer(&parts, &terms, &body);
        spare::put_fields(parts.headers);
        let sent = seat.send(&mut feed, told.framing, body, kept_waiting).await;
        if sent.is_err() {
            if told.framing == Framing::UntilClose {
                seat.wire.breaks_off();
            }
            return After::Lost;
        }
        if told.framing == Framing::Switched {
            return match feed.is_unread() {
                true => After::Ends { unread: true },
                false => After::Switched(promise),
            };
        }
        let reads_on = seat.finish(&mut feed, told.keeps).await;
        match told.keeps && reads_on && !seat.is_leaving() {
            true => After::Stays,
            false => After::Ends {
                unread: feed.is_unread(),
            },
        }
    }
}

/// Answers what is no request.
async fn refuse<S: Service>(
    house: &House<S>,
    visit: &Visit,
    seat: &mut Seat,
    why: Unreadable,
) -> After {
    let fault = match why {
        Unreadable::Malformed(_) => Fault::Malformed,
        Unreadable::HeadTooLarge(_) => Fault::HeadTooLarge,
        Unreadable::TargetTooLong => Fault::TargetTooLong,
    };
    seat.wire.works();
    let refusal = house.service.refuse(fault, visit);
    let answer = refusal.map(Whole);
    // What was read of it is still there. Who asks for a head takes a body for the next answer, whatever else is wrong.
    let terms = Terms {
        head: seat.wire.inbox.starts_with(b"HEAD "),
        ..Terms::UNREADABLE
    };
    match respond(seat, Feed::none(), answer, terms, None, |_| {}).await {
        After::Lost => After::Lost,
        _ => After::Ends { unread: true },
    }
}
