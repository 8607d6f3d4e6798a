//! The story of a request: from its first frame to the answer of its service, or to a refusal that says why.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use concurrency_gate::{Reason, Rejection};
use front_door::Visit;
use oap::{Codec, Header, Meta};
use tokio::time::{Instant, timeout_at};

use crate::gates::Entry;
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

/// Answers a request. Nothing here costs more than looking, until it has passed its gate.
pub(crate) async fn answer(transport: Arc<Transport>, message: Message) -> Result<Reply, Refusal> {
    let plan = transport.plan();
    let header = message.header;
    let entry = plan.counter.find(header.app_proto, header.code)?;
    believe(&header)?;
    let until = message.began + patience(entry, &message.meta);
    let served = serve(&transport, entry, message, until);
    let late = |_| Refusal::Protocol(oap::Refusal::Deadline);
    timeout_at(until, served).await.map_err(late)?
}

/// A tenant is a claim. Credentials here say names and not numbers: so none of them says this one.
fn believe(header: &Header) -> Result<(), Refusal> {
    match header.tenant {
        0 => Ok(()),
        _ => Err(Refusal::Tenant),
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

/// A place at the gate of its opcode, a worker, and then its service.
async fn serve(
    transport: &Transport,
    entry: &Entry,
    message: Message,
    until: Instant,
) -> Result<Reply, Refusal> {
    let (timeline, workers) = (transport.timeline, transport.workers()?);
    let now = timeline.at(message.began);
    let place = entry.gate.enter_owned(now, Some(timeline.at(until))).await;
    let place = place.map_err(turned_away)?;
    let ask = ask(message, until);
    let unit = Unit {
        repeats: ask.is_whole() && entry.handler.repeats(&entry.opcode, &ask),
        ask,
        handler: entry.handler.clone(),
        _place: place,
    };
    workers.submit(unit)?.answer().await?
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
