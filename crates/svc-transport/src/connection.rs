//! The story of a connection: frames in, requests under way, frames out, until one side has enough.
//!
//! One task does all of it, so nothing of it is locked, and answers leave in the order in which they are made.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use front_door::Visit;
use futures_util::task::AtomicWaker;
use kernel::clock;
use oap::{Decoder, Frame, Session, Violation};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::entrance::House;
use crate::outbox::Outbox;
use crate::transport::Settings;
use answering::Answering;
use times::{Late, Times};

mod answering;
mod beginning;
mod download;
mod reading;
mod times;

/// Turns one connection takes, and frames it is heard for, before others have theirs.
const TURNS: usize = 16;
const FRAMES: usize = 16;
/// How long, and for how many bytes, one that was told why it has to go is listened to: a reset would take the words
/// back.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 4 * 1024 * 1024;

/// A connection.
pub(crate) struct Connection<IO> {
    io: IO,
    house: Arc<House>,
    settings: Arc<Settings>,
    visit: Arc<Visit>,
    /// The credential of its HELLO.
    token: Option<Bytes>,
    session: Session,
    decoder: Decoder,
    inbox: BytesMut,
    /// As much comes at a time as is read at a time.
    flows: bool,
    /// Whole frames are left in the inbox, for the next turn: until they are heard, no more is read.
    behind: bool,
    /// The client has said all it will say.
    heard_all: bool,
    outbox: Outbox,
    answering: Answering,
    times: Times,
    stage: Stage,
    /// Woken when a service has taken something of a stream.
    waker: Arc<AtomicWaker>,
}

/// How far its end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// Takes no more requests, and finishes those it has.
    Leaving,
    /// Has been told what it did wrong; nothing else is said any more.
    Dismissed,
}

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// All is said.
    Proper,
    /// Nobody is there any more, or takes too long.
    Lost,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Connection<IO> {
    pub(crate) fn new(io: IO, house: Arc<House>, settings: Arc<Settings>, visit: Visit) -> Self {
        Self {
            io,
            house,
            visit: Arc::new(visit),
            token: None,
            session: Session::server(settings.hello.clone()),
            decoder: Decoder::default(),
            inbox: BytesMut::new(),
            flows: false,
            behind: false,
            heard_all: false,
            outbox: Outbox::default(),
            answering: Answering::default(),
            times: Times::new(clock::now()),
            stage: Stage::Open,
            waker: Arc::default(),
            settings,
        }
    }

    /// From the first byte to the last.
    pub(crate) async fn live(mut self) {
        match self.run().await {
            // Boxed: all its life, the task should not have to keep room for it.
            End::Proper => Box::pin(self.close()).await,
            End::Lost => {
                let lost = self.answering.running();
                self.house.transport.metrics.lost.inc_by(lost as u64);
            }
        }
    }

    async fn run(&mut self) -> End {
        let house = self.house.clone();
        let mut told = std::pin::pin!(house.told_to_leave());
        loop {
            tokio::select! {
                // First what has come in, then whether it is time to leave: on a busy node both are heard at once.
                biased;
                end = poll_fn(|cx| self.poll(cx)) => return end,
                () = &mut told, if self.stage == Stage::Open => self.leave("draining"),
                () = house.crowded.notified(), if self.stage == Stage::Open => {
                    if self.times.is_in_the_way(clock::now()) {
                        return End::Lost;
                    }
                    if self.is_idle() && self.times.is_settled(clock::now()) {
                        self.leave("crowded");
                    }
                }
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.waker.register(cx.waker());
        let mut frames = FRAMES;
        for _ in 0..TURNS {
            let mut moved = self.answer(cx);
            moved |= self.listen(&mut frames);
            match self.poll_read(cx) {
                Ok(read) => moved |= read,
                Err(_) => return Poll::Ready(End::Lost),
            }
            match self.poll_write(cx) {
                Ok(written) => moved |= written,
                Err(_) => return Poll::Ready(End::Lost),
            }
            if self.is_over() {
                return Poll::Ready(End::Proper);
            }
            if !moved {
                return self.poll_late(cx);
            }
            if frames == 0 {
                break;
            }
        }
        // Not merely behind those who could go on already: what has come for others meanwhile is looked at before.
        let yielded = std::pin::pin!(tokio::task::yield_now()).poll(cx);
        debug_assert!(yielded.is_pending(), "it yields once");
        Poll::Pending
    }

    /// Whether all is said that will be.
    fn is_over(&self) -> bool {
        let has_to_go = self.heard_all || self.stage != Stage::Open;
        has_to_go && self.is_answered()
    }

    fn is_answered(&self) -> bool {
        let is_done = self.stage == Stage::Dismissed || self.session.in_flight() == 0;
        is_done && self.outbox.is_empty()
    }

    fn is_idle(&self) -> bool {
        self.inbox.is_empty() && self.is_answered()
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> std::io::Result<bool> {
        match self.outbox.poll_write(&mut self.io, cx) {
            Poll::Ready(written) => {
                let moved = written? > 0;
                self.times.wrote(moved.then(clock::now));
                Ok(moved)
            }
            Poll::Pending => {
                self.times.waits_to_write(clock::now());
                Ok(false)
            }
        }
    }

    /// Nothing moves: until when may it stay so?
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        loop {
            let now = clock::now();
            let idle = self.is_idle();
            let greeted = self.session.agreed().is_some();
            let stalled = self.answering.stalled_since();
            let due = self.times.next(&self.settings, greeted, idle, stalled);
            let Some((late, at)) = due else {
                return Poll::Pending;
            };
            if self.times.alarm.poll(at, now, cx).is_pending() {
                return Poll::Pending;
            }
            let metrics = &self.house.transport.metrics;
            match late {
                Late::Read => metrics.late_reads.inc(),
                Late::Write => metrics.late_writes.inc(),
                Late::Credit => {
                    self.break_off_stalled(now);
                    cx.waker().wake_by_ref();
                    continue;
                }
                Late::Idle => {
                    self.leave("idle");
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            };
            return Poll::Ready(End::Lost);
        }
    }

    /// Takes no more requests, and ends when those there are have been answered.
    fn leave(&mut self, reason: &'static str) {
        self.stage = Stage::Leaving;
        // Nothing comes before the answer to HELLO.
        if self.session.agreed().is_some() {
            let away = self.session.go_away(503, reason);
            self.send(away);
        }
    }

    /// Ends because of what the peer did wrong; nothing else of it is looked at, or answered.
    fn dismiss(&mut self, violation: Violation) {
        self.house.transport.metrics.violated(violation);
        tracing::debug!(peer = %self.visit.peer, reason = violation.reason(), "a peer broke a rule");
        self.stage = Stage::Dismissed;
        self.answering = Answering::default();
        self.inbox = BytesMut::new();
        self.send(Frame::farewell(violation));
    }

    fn send(&mut self, frame: Frame) {
        self.house.transport.metrics.written.inc();
        self.outbox.push(frame);
    }

    /// Says that nothing more comes, and lets the other side finish its sentence.
    async fn close(mut self) {
        let Ok(Ok(())) = timeout(self.settings.write, self.io.shutdown()).await else {
            return;
        };
        if self.heard_all {
            return;
        }
        let listen = async {
            let (mut rest, mut heard) = ([0; 4096], 0);
            while let Ok(read @ 1..) = self.io.read(&mut rest).await {
                heard += read;
                if heard > LINGER_BYTES {
                    return;
                }
            }
        };
        let _heard_enough = timeout(LINGER, listen).await.is_err();
    }
}
