//! The story of a request: from its first frame to the answer of its service, or to a refusal that says why.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use concurrency_gate::{Lease, Reason, Rejection};
use front_door::Visit;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::pool::Ticket;
use oap::{Codec, Header, Meta};
use tokio::time::{Instant, timeout_at};

use crate::gates::{Entry, OpcodeKey};
use crate::reject::Refusal;
use crate::service::{Ask, Content, Reply};
use crate::transport::Transport;
use crate::work::Unit;

/// The shortest deadline anybody gets: less cannot be kept.
const LEAST_DEADLINE: Duration = Duration::from_millis(1);

/// A request as its connection hands it in.
pub(crate) struct Message {
    pub(crate) header: Header,
    pub(crate) meta: Meta,
    /// The credential of the connection, for requests that bring none.
    pub(crate) token: Option<Bytes>,
    pub(crate) content: Content,
    pub(crate) codec: Option<Codec>,
    pub(crate) visit: Arc<Visit>,
    pub(crate) began: Instant,
    /// How long its stream may stand still.
    pub(crate) patience: Duration,
}

/// What became of a request at first.
pub(crate) enum Begun {
    /// Its service had the answer at once.
    Answered(Reply),
    /// It waits for its gate, or for a worker.
    Working(BoxFuture<'static, Outcome>),
}

pub(crate) type Outcome = Result<Reply, Refusal>;

/// Begins with a request: opcode, tenant, a place at the gate of its opcode, and then its service at once, or a worker.
/// Nothing here costs more than looking, until it has passed its gate.
pub(crate) fn begin(transport: &Arc<Transport>, message: Message) -> Result<Begun, Refusal> {
    let plan = transport.plan_in_force();
    let header = message.header;
    let entry = plan.counter.find(header.app_proto, header.code)?;
    believe(entry, &header)?;
    let (began, until) = (
        message.began,
        message.began + patience(entry, &message.meta),
    );
    let ask = ask(message, until);
    let Some(place) = entry.gate.enter_if_free(transport.timeline.at(began)) else {
        let served = serve_in_turn(transport.clone(), entry.clone(), ask, began);
        return Ok(Begun::Working(in_time(until, served).boxed()));
    };
    if let Some(outcome) = at_once(entry, &ask) {
        return outcome.map(Begun::Answered);
    }
    let ticket = hand_in(transport, entry, ask, place.into_owned())?;
    let served = async { ticket.answer().await? };
    Ok(Begun::Working(in_time(until, served).boxed()))
}

/// A service that panics has answered badly, and harms nobody else on its connection.
fn at_once(entry: &Entry, ask: &Ask) -> Option<Outcome> {
    let answered = catch_unwind(AssertUnwindSafe(|| entry.handler.at_once(ask)));
    answered.unwrap_or(Some(Err(Refusal::WorkerLost)))
}

/// Waits for a place at the gate, and then for a worker.
async fn serve_in_turn(
    transport: Arc<Transport>,
    entry: Entry,
    ask: Ask,
    began: Instant,
) -> Outcome {
    let timeline = transport.timeline;
    let (now, until) = (timeline.at(began), timeline.at(ask.until));
    let place = entry.gate.enter_owned(now, Some(until)).await;
    let place = place.map_err(turned_away)?;
    hand_in(&transport, &entry, ask, place)?.answer().await?
}

async fn in_time(until: Instant, served: impl Future<Output = Outcome>) -> Outcome {
    let late = |_| Refusal::Protocol(oap::Refusal::Deadline);
    timeout_at(until, served).await.map_err(late)?
}

fn hand_in(
    transport: &Transport,
    entry: &Entry,
    ask: Ask,
    place: Lease<'static, OpcodeKey>,
) -> Result<Ticket<Outcome>, Refusal> {
    let unit = Unit {
        repeats: ask.is_whole() && entry.handler.repeats(&entry.opcode, &ask),
        ask,
        handler: entry.handler.clone(),
        _place: place,
    };
    Ok(transport.workers()?.submit(unit)?)
}

/// A tenant is a claim: who cannot hold it against a credential is not asked.
fn believe(entry: &Entry, header: &Header) -> Result<(), Refusal> {
    match header.tenant == 0 || entry.handler.proves_tenants() {
        true => Ok(()),
        false => Err(Refusal::Tenant),
    }
}

/// How long it may take until the answer begins: what the client asks for, at most what the opcode allows.
fn patience(entry: &Entry, meta: &Meta) -> Duration {
    let most = entry.opcode.deadline;
    wish(meta).map_or(most, |asked| {
        asked.clamp(LEAST_DEADLINE, most.max(LEAST_DEADLINE))
    })
}

fn wish(meta: &Meta) -> Option<Duration> {
    meta.deadline_ms.map(|ms| Duration::from_millis(ms.into()))
}

fn turned_away(rejection: Rejection) -> Refusal {
    match rejection.reason() {
        Reason::Closed => oap::Refusal::Draining.into(),
        _ => Refusal::Gate(rejection.retry_after()),
    }
}

fn ask(message: Message, until: Instant) -> Ask {
    Ask {
        app_proto: message.header.app_proto,
        opcode: message.header.code,
        tenant: message.header.tenant,
        wish: wish(&message.meta),
        token: message.meta.token.or(message.token),
        trace: message.meta.trace,
        until,
        visit: message.visit,
        content: message.content,
        codec: message.codec,
        patience: message.patience,
    }
}
