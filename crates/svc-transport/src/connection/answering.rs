//! The requests of a connection that are under way, from their first frame to the last of their answers.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::future::{AbortHandle, Abortable, Aborted, BoxFuture, abortable};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use hashbrown::HashMap;
use kernel::clock;
use kernel::metrics::Gauge;
use oap::{Directive, Frame, Header, Problem};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::Connection;
use super::download::{Download, Step};
use crate::body::Inflow;
use crate::message::Outcome;
use crate::reject::Refusal;
use crate::service::Reply;

/// Everything that is under way. Dropped, it is given up: workers are told, and streams end.
#[derive(Default)]
pub(super) struct Answering {
    works: FuturesUnordered<Working>,
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

/// The work for a request, until it is done or given up.
struct Working {
    id: u64,
    work: Abortable<BoxFuture<'static, Outcome>>,
}

struct Done {
    id: u64,
    outcome: Result<Outcome, Aborted>,
}

impl Future for Working {
    type Output = Done;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Done> {
        let outcome = ready!(Pin::new(&mut self.work).poll(cx));
        let id = self.id;
        Poll::Ready(Done { id, outcome })
    }
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

    /// A request that still comes begins with this.
    pub(super) fn upload(&mut self, id: u64, inflow: Arc<Inflow>) {
        self.uploads.insert(id, Upload(inflow));
    }

    fn close(&mut self, id: u64) -> Option<Open> {
        self.uploads.remove(&id);
        let open = self.open.remove(&id)?;
        self.held -= open.held;
        Some(open)
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Connection<IO> {
    /// Somebody works for a request.
    pub(super) fn employ(
        &mut self,
        header: Header,
        began: Instant,
        held: usize,
        work: BoxFuture<'static, Outcome>,
    ) {
        let (work, handle) = abortable(work);
        self.open(header, began, held, Some(handle));
        let id = header.corr_id;
        self.answering.works.push(Working { id, work });
    }

    /// An answer is there before it can be sent.
    pub(super) fn queue(&mut self, header: Header, began: Instant, reply: Reply) {
        self.open(header, began, 0, None);
        let download = Download::new(header.corr_id, reply);
        self.answering.downloads.push_back(download);
    }

    fn open(&mut self, header: Header, began: Instant, held: usize, work: Option<AbortHandle>) {
        let open = Open {
            header,
            began,
            held,
            work,
            _counted: Counted::new(&self.house.transport.metrics.inflight),
        };
        self.answering.held += held;
        self.answering.open.insert(header.corr_id, open);
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
            Ok(Err(refusal)) => {
                let (header, began) = (open.header, open.began);
                self.refuse(header, began, refusal);
            }
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
                    let open = self.answering.open.get(&download.id);
                    if let (Some(status), Some(open)) = (status, open) {
                        self.count(&open.header, open.began, status);
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
    pub(super) fn let_go(&mut self, id: u64) {
        self.answering.close(id);
        if let Some(reset) = self.session.let_go(id) {
            self.send(reset);
        }
    }

    /// Refuses a request that was under way.
    pub(super) fn refuse(&mut self, header: Header, began: Instant, refusal: Refusal) {
        if let Refusal::Broken(violation) = refusal {
            return self.dismiss(violation);
        }
        self.house.transport.metrics.refused(refusal);
        let (id, status) = (header.corr_id, refusal.status());
        let payload = self.problem(&header, refusal);
        match self.session.respond(id, status, payload, true, false) {
            Ok(frame) => {
                self.send(frame);
                self.count(&header, began, status);
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

    pub(super) fn count(&self, header: &Header, began: Instant, status: u16) {
        let (opcode, took) = ((header.app_proto, header.code), clock::now() - began);
        self.house.transport.metrics.answered(opcode, status, took);
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
