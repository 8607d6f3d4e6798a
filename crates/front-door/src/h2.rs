//! An HTTP/2 connection, in one task: what has come is heard, what is rung for is driven, all of it is said at once.
//!
//! Requests are not given tasks of their own. Their answers leave in the same few writes as they come in reads, nothing
//! is handed between threads for that, and a connection at rest keeps two kilobytes, most of them about its socket.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http2_wire::HeadReader;
use http2_wire::frame::{self, Code};
use kernel::serve::Stay;
use tokio::io::AsyncWrite;

use crate::budget::Budget;
use crate::door::{House, Panicked};
use crate::line::Line;
use crate::pulse::{Order, Today};
use crate::service::{InPlace, Service};
use crate::settings::DoorSettings;
use crate::socket::Socket;
use crate::upload::Upload;

use answers::Work;
use bell::Bell;
use clock::Times;
use hear::{Heard, Inbox};
use outbox::Outbox;
use streams::{Streams, Window};
use turn::Turn;

pub(crate) use inflow::{INFLOW, Outflow};

mod answers;
mod bell;
mod clock;
mod frames;
mod hear;
mod inflow;
mod outbox;
mod streams;
mod turn;

/// Everything a connection starts from.
pub(crate) struct Start {
    pub(crate) socket: Socket,
    /// What has been read already.
    pub(crate) early: Bytes,
    pub(crate) line: Arc<Line>,
    pub(crate) stay: Stay,
}

/// What the work on each request shares.
struct Room<S> {
    house: Arc<House<S>>,
    line: Arc<Line>,
}

/// Why a connection ends.
#[derive(Debug)]
enum Ended {
    /// All is said, or nobody listens, or its time is over.
    Quiet,
    /// The peer broke the protocol.
    Error(Code),
    /// The peer says more than anyone needs to.
    Flood,
    Socket(io::Error),
}

impl From<Code> for Ended {
    fn from(code: Code) -> Self {
        Self::Error(code)
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

/// How a connection takes its leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// Not at all.
    Not,
    /// It has said so; what was on its way then is still served.
    Announced,
    /// Whoever asks now comes too late.
    Final,
}

struct Connection<S: Service, F> {
    room: Arc<Room<S>>,
    line: Arc<Line>,
    begin: fn(Arc<Room<S>>, Request<Upload>) -> F,
    socket: Socket,
    inbox: Inbox,
    heads: HeadReader,
    streams: Streams<Work<F, S::Body>>,
    streams_max: usize,
    bell: Arc<Bell>,
    /// Whose turn it is.
    next: usize,
    out: Outbox,
    today: Today,
    budget: Budget,
    /// How much may go, on all streams together.
    window: Window,
    /// How much may go at first on each.
    initial_window: u32,
    /// How much may go in one frame.
    payload_max: usize,
    /// How much may come, on all streams together.
    incoming: Window,
    /// The peer has said what it is like.
    greeted: bool,
    /// Bytes of a head, packed.
    block_max: usize,
    /// The peer may believe that we remember fields.
    forgets: bool,
    /// The last stream that was opened.
    last: u32,
    /// Streams we have ended that the peer may not know of, and what it may still say there.
    given_up: Vec<(u32, Window)>,
    /// Those of them that the peer is still to be told of, and at which tick.
    partings: Vec<(u32, u32)>,
    leave: Leave,
    times: Times,
    /// Given back when the socket is dropped.
    _stay: Stay,
}

/// Serves a connection to its end.
pub(crate) fn serve<S: Service>(
    house: Arc<House<S>>,
    settings: &DoorSettings,
    start: Start,
) -> impl Future<Output = ()> + Send + use<S> {
    let mut connection = Connection::new(house, settings, start, call::<S>);
    async move {
        let ended = poll_fn(|cx| connection.poll(cx)).await;
        connection.end(ended).await;
    }
}

/// One request.
#[expect(
    clippy::manual_async_fn,
    reason = "an async function keeps room for its arguments beside what it moves them to, a block does not"
)]
fn call<S: Service>(
    room: Arc<Room<S>>,
    request: Request<Upload>,
) -> impl Future<Output = Result<Response<S::Body>, Panicked>> + Send {
    async move {
        let mut request = Some(request);
        let request = InPlace::new(&mut request);
        room.house.call(request, &room.line.visit).await
    }
}

impl<S, F> Connection<S, F>
where
    S: Service,
    F: Future<Output = Result<Response<S::Body>, Panicked>> + Send,
{
    fn new(
        house: Arc<House<S>>,
        settings: &DoorSettings,
        start: Start,
        begin: fn(Arc<Room<S>>, Request<Upload>) -> F,
    ) -> Self {
        let Start {
            socket,
            early,
            line,
            stay,
        } = start;
        let streams_max = settings.streams_per_connection;
        let incoming = hear::connection_window(streams_max);
        let mut out = Outbox::default();
        frame::write_settings(
            out.lead(),
            streams_max,
            inflow::WINDOW,
            settings.header_list_bytes,
        );
        frame::write_window_update(out.lead(), 0, incoming - frame::WINDOW);
        Self {
            room: Arc::new(Room {
                house,
                line: line.clone(),
            }),
            begin,
            socket,
            inbox: Inbox::new(early),
            heads: HeadReader::new(settings.header_list_bytes as usize),
            streams: Streams::new(),
            streams_max: streams_max as usize,
            bell: Bell::new(line.clone(), streams_max),
            next: 0,
            out,
            today: Today::default(),
            budget: Budget::new(line.desk.clock.now()),
            window: Window::new(frame::WINDOW),
            initial_window: frame::WINDOW,
            payload_max: frame::PAYLOAD_MAX as usize,
            incoming: Window::new(incoming),
            greeted: false,
            block_max: settings.header_list_bytes as usize + frame::PAYLOAD_MAX as usize,
            forgets: true,
            last: 0,
            given_up: Vec::new(),
            partings: Vec::new(),
            leave: Leave::Not,
            times: Times::new(&line, settings),
            line,
            _stay: stay,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        self.line.pulse.belongs_to(cx.waker());
        self.bell.attend();
        let yields = match self.go_on(cx) {
            Ok(yields) => yields,
            Err(ended) => return Poll::Ready(ended),
        };
        // A full outbox is in the way of all of them; the socket wakes when it is not.
        if self.bell.leave() && !yields && !self.out.is_full() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Does all there is to do, or as much as others can wait for; whether it was the others' turn.
    fn go_on(&mut self, cx: &mut Context<'_>) -> Result<bool, Ended> {
        let mut turn = Turn::default();
        loop {
            let heard = self.hear(&mut turn, cx)?;
            self.drive_all(&mut turn);
            let mut sent = self.poll_send(cx)?;
            if self.look_at_the_clock(heard)? {
                sent = self.poll_send(cx)?;
            }
            if self.is_done() || heard == Heard::End {
                return Err(Ended::Quiet);
            }
            let goes_on = self.bell.is_rung() || heard != Heard::All;
            if turn.is_over() && goes_on {
                // Woken when the runtime has looked at its sockets: who wakes itself at once keeps it from that.
                let _pending = pin!(tokio::task::yield_now()).poll(cx);
                return Ok(true);
            }
            if !goes_on || (sent.is_pending() && self.out.is_full()) {
                return Ok(false);
            }
        }
    }

    /// Writes all there is to say. The time for that is the peer's.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, Ended> {
        if self.out.is_empty() {
            self.rest_if_idle();
            return Ok(Poll::Ready(()));
        }
        let (out, socket) = (&mut self.out, &mut self.socket);
        let mut total = 0;
        // Whatever the streams of this task have used up of its time, a socket that takes no more is the peer's doing.
        let writing = poll_fn(|cx| {
            loop {
                match ready!(out.poll_write(socket, cx))? {
                    0 => return out.poll_flush(socket, cx),
                    written => total += written,
                }
            }
        });
        let sent = pin!(tokio::task::unconstrained(writing)).poll(cx);
        if total > 0 || sent.is_ready() {
            self.budget.wrote(total);
            self.line.write_goes_on();
        }
        match sent {
            Poll::Pending => self.waits(),
            Poll::Ready(sent) => {
                sent?;
                self.rest_if_idle();
                Ok(Poll::Ready(()))
            }
        }
    }

    /// The peer does not take what is written.
    fn waits(&self) -> Result<Poll<()>, Ended> {
        match self.line.write_waits::<()>() {
            Poll::Ready(Err(error)) => Err(error.into()),
            _ => Ok(Poll::Pending),
        }
    }

    /// Whether there is nothing left to wait for.
    fn is_done(&self) -> bool {
        let all_said = self.out.is_empty() && self.partings.is_empty();
        self.leave == Leave::Final && self.streams.open() == 0 && all_said
    }

    /// Says why, if that is known, and lets go of the peer in order.
    async fn end(&mut self, ended: Ended) {
        let (code, lingers) = match ended {
            Ended::Quiet if self.is_done() => (None, false),
            Ended::Quiet => (Some(Code::NoError), false),
            Ended::Error(code) => (Some(code), true),
            Ended::Flood => (Some(Code::Calm), false),
            Ended::Socket(ref error) => {
                tracing::debug!(peer = %self.line.visit.peer, %error, "connection ended early");
                (None, false)
            }
        };
        if let Ended::Error(code) = ended {
            tracing::debug!(peer = %self.line.visit.peer, ?code, "no HTTP/2");
        }
        // Whoever works on a request is told first that nobody waits for it.
        self.streams = Streams::new();
        let Some(code) = code else {
            return self.shut().await;
        };
        frame::write_goaway(self.out.lead(), self.last, code);
        let line = self.line.clone();
        // A flood is not waited for.
        let cut = matches!(ended, Ended::Flood);
        let said = poll_fn(|cx| {
            line.pulse.belongs_to(cx.waker());
            match self.poll_send(cx) {
                Ok(Poll::Pending) if !cut && line.pulse.ordered() != Order::Cut => Poll::Pending,
                Ok(_) => Poll::Ready(true),
                Err(_) => Poll::Ready(false),
            }
        });
        if said.await && !cut {
            self.shut().await;
            if lingers {
                self.line.clone().linger(&mut self.socket).await;
            }
        }
    }

    async fn shut(&mut self) {
        let line = self.line.clone();
        poll_fn(|cx| {
            line.pulse.belongs_to(cx.waker());
            let shut = Pin::new(&mut self.socket).poll_shutdown(cx);
            line.written(shut, cx).map(drop)
        })
        .await;
    }
}
