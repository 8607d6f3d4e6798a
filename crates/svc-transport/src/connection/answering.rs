//! The requests of a connection that are under way, from their first frame to the last of their answers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::{AbortHandle, Aborted, BoxFuture, abortable};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use hashbrown::HashMap;
use kernel::clock;
use kernel::metrics::Gauge;
use oap::{Directive, Flags, Frame, Header, Meta, Problem};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::Connection;
use super::download::{Download, Step};
use crate::body::Inflow;
use crate::message::{self, Message};
use crate::reject::Refusal;
use crate::service::{Content, Reply};

/// Everything that is under way. Dropped, it is given up: workers are told, and streams end.
#[derive(Default)]
pub(super) struct Answering {
    works: FuturesUnordered<BoxFuture<'static, Done>>,
    open: HashMap<u64, Open>,
    /// Requests that still come.
    uploads: BTreeMap<u64, Upload>,
    /// Answers that still go, each in its turn.
    downloads: VecDeque<Download>,
    /// Bytes of whole requests that nobody has answered yet.
    held: usize,
}

/// A request that is not answered to the end.
struct Open {
    header: Header,
    began: Instant,
    held: usize,
    /// Ends the work for it, as long as there is any.
    work: Option<AbortHandle>,
    _counted: Counted,
}

struct Done {
    id: u64,
    outcome: Result<Result<Reply, Refusal>, Aborted>,
}

/// One of the requests in the gauge.
struct Counted(Gauge);

impl Counted {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A request that still comes; whoever reads it hears when no more will.
struct Upload(Arc<Inflow>);

impl Drop for Upload {
    fn drop(&mut self) {
        self.0.fail(Refusal::BodyGone);
    }
}

impl Answering {
    /// Requests that a service, or its gate, has.
    pub(super) fn running(&self) -> usize {
        self.works.len()
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.held
    }

    /// Since when the answer that waits longest has no credit.
    pub(super) fn stalled_since(&self) -> Option<Instant> {
        self.downloads.iter().filter_map(|one| one.stalled).min()
    }

    /// The next of a request has come.
    pub(super) fn more(&mut self, id: u64, payload: Bytes, ends: bool) {
        if let Some(upload) = self.uploads.get(&id) {
            upload.0.put(payload, ends);
        }
        if ends {
            self.uploads.remove(&id);
        }
    }

    /// No request goes on.
    pub(super) fn hear_no_more(&mut self) {
        self.uploads.clear();
    }

    fn close(&mut self, id: u64) -> Option<Open> {
        self.uploads.remove(&id);
        let open = self.open.remove(&id)?;
        self.held -= open.held;
        Some(open)
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Connection<IO> {
    /// A request begins, or is there as a whole.
    pub(super) fn begin(&mut self, header: Header, meta: Meta, payload: Bytes) {
        let (id, began, transport) = (header.corr_id, clock::now(), &self.house.transport);
        let compressed = header.flags.has(Flags::COMP);
        let codec = self.session.agreed().and_then(|agreed| agreed.codec);
        let held = if header.ends() { payload.len() } else { 0 };
        let content = match header.ends() {
            true => Content::Whole(payload),
            false => {
                let inflow = Inflow::new(&self.waker);
                inflow.put(payload, false);
                self.answering.uploads.insert(id, Upload(inflow.clone()));
                Content::Stream(inflow)
            }
        };
        let message = Message {
            header,
            meta,
            token: self.token.clone(),
            content,
            codec: codec.filter(|_| compressed),
            visit: self.visit.clone(),
            began,
            patience: self.settings.write,
        };
        let (work, handle) = abortable(message::answer(transport.clone(), message));
        let open = Open {
            header,
            began,
            held,
            work: Some(handle),
            _counted: Counted::new(&transport.metrics.inflight),
        };
        let work = async move {
            let outcome = work.await;
            Done { id, outcome }
        };
        self.answering.held += held;
        self.answering.open.insert(id, open);
        self.answering.works.push(Box::pin(work));
    }

    /// The client has lost interest.
    pub(super) fn give_up(&mut self, id: u64) {
        self.house.transport.metrics.reset.inc();
        self.answering.uploads.remove(&id);
        let Some(open) = self.answering.open.get(&id) else {
            return;
        };
        match &open.work {
            // It is over when its work has stopped.
            Some(work) => work.abort(),
            None => {
                self.answering.downloads.retain(|one| one.id != id);
                self.let_go(id);
            }
        }
    }

    /// Whatever can be said of answers is said; whether there was something.
    pub(super) fn answer(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = self.grant();
        while self.outbox.has_room()
            && let Poll::Ready(Some(done)) = self.answering.works.poll_next_unpin(cx)
        {
            moved = true;
            self.done(done);
        }
        moved | self.go_on(cx)
    }

    /// Grants what services have taken of requests.
    fn grant(&mut self) -> bool {
        let mut grants = Vec::new();
        for (id, upload) in &self.answering.uploads {
            let taken = upload.0.settle();
            if taken > 0 {
                grants.extend(self.session.consumed(*id, taken));
            }
        }
        let moved = !grants.is_empty();
        for grant in grants {
            self.send(grant);
        }
        moved
    }

    fn done(&mut self, done: Done) {
        let Some(open) = self.answering.open.get_mut(&done.id) else {
            return;
        };
        open.work = None;
        match done.outcome {
            Err(Aborted) => self.let_go(done.id),
            Ok(Ok(reply)) => {
                let download = Download::new(done.id, reply);
                self.answering.downloads.push_back(download);
            }
            Ok(Err(Refusal::Broken(violation))) => self.dismiss(violation),
            Ok(Err(refusal)) => self.refuse(done.id, refusal),
        }
    }

    /// Answers go on, a frame each in turn, as far as there is room and credit.
    fn go_on(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        for _ in 0..self.answering.downloads.len() {
            if !self.outbox.has_room() {
                break;
            }
            let Some(mut download) = self.answering.downloads.pop_front() else {
                break;
            };
            match download.step(&mut self.session, cx) {
                Step::Frame {
                    frame,
                    status,
                    ends,
                } => {
                    moved = true;
                    self.send(frame);
                    if let Some(status) = status {
                        self.count(download.id, status);
                    }
                    match ends {
                        true => drop(self.answering.close(download.id)),
                        false => self.answering.downloads.push_back(download),
                    }
                }
                Step::Waits => self.answering.downloads.push_back(download),
                Step::Broken { status, reason } => {
                    moved = true;
                    let reset = self.session.reset(download.id, status, reason);
                    self.answering.close(download.id);
                    reset.into_iter().for_each(|frame| self.send(frame));
                }
                Step::Over => self.let_go(download.id),
            }
        }
        moved
    }

    /// Breaks off the answers that had no credit for too long.
    pub(super) fn break_off_stalled(&mut self, now: Instant) {
        let write = self.settings.write;
        let is_late = |one: &Download| one.stalled.is_some_and(|since| now >= since + write);
        let late: Vec<u64> = self
            .answering
            .downloads
            .iter()
            .filter(|one| is_late(one))
            .map(|one| one.id)
            .collect();
        self.answering.downloads.retain(|one| !is_late(one));
        for id in late {
            self.house.transport.metrics.stalled.inc();
            let reset = self.session.reset(id, 408, "no-credit");
            self.answering.close(id);
            reset.into_iter().for_each(|frame| self.send(frame));
        }
    }

    /// Nothing is done for it any more.
    fn let_go(&mut self, id: u64) {
        self.answering.close(id);
        if let Some(reset) = self.session.let_go(id) {
            self.send(reset);
        }
    }

    /// Refuses a request that was under way.
    fn refuse(&mut self, id: u64, refusal: Refusal) {
        let Some(header) = self.answering.open.get(&id).map(|open| open.header) else {
            return;
        };
        self.house.transport.metrics.refused(refusal);
        let payload = self.problem(&header, refusal);
        let said = self
            .session
            .respond(id, refusal.status(), payload, true, false);
        match said {
            Ok(frame) => {
                self.send(frame);
                self.count(id, refusal.status());
                self.answering.close(id);
            }
            Err(_) => self.let_go(id),
        }
    }

    /// Refuses a request that was not admitted at all.
    pub(super) fn turn_away(&mut self, header: Header, refusal: Refusal) {
        let metrics = &self.house.transport.metrics;
        metrics.refused(refusal);
        let opcode = (header.app_proto, header.code);
        metrics.answered(opcode, refusal.status(), std::time::Duration::ZERO);
        let payload = self.problem(&header, refusal);
        self.send(Frame::answer(&header, refusal.status(), payload));
    }

    fn count(&self, id: u64, status: u16) {
        if let Some(open) = self.answering.open.get(&id) {
            let opcode = (open.header.app_proto, open.header.code);
            let took = clock::now() - open.began;
            self.house.transport.metrics.answered(opcode, status, took);
        }
    }

    /// What is said of a refusal. That there is no room is said to one peer so often and no oftener; between, the
    /// status says it.
    fn problem(&self, header: &Header, refusal: Refusal) -> Bytes {
        let transport = &self.house.transport;
        let now = transport.timeline.now();
        if refusal.is_busy() && !transport.notices.allows(&self.visit.peer.ip(), now) {
            return Bytes::new();
        }
        let wait = refusal.retry_after();
        let wait = wait.map(|wait| u32::try_from(wait.as_millis()).unwrap_or(u32::MAX).max(1));
        let directive = |ms| Directive::rate_limited(header.app_proto, header.code, ms);
        let problem = Problem {
            retry_after_ms: wait,
            directive: wait.filter(|_| refusal.is_busy()).map(directive),
            ..Problem::new(refusal.reason()).detailed(refusal.detail())
        };
        problem.to_payload()
    }
}
