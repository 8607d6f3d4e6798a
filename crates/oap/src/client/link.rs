//! One connection: its session, what waits to be written, and who waits for answers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::Failure;
use super::call::{Call, Piece};
use crate::{Agreed, Event, Frame, GoAway, Opening, Session, Unsent};

/// What may wait to be written before callers have to wait too.
const OUT_BYTES_MAX: usize = 256 * 1024;

/// A panic while the lock was held leaves nothing half done that matters here.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shared by the task that moves its bytes and by the calls on it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) agreed: Agreed,
    state: Mutex<State>,
    /// Rung when there is something to write, or nothing more to wait for; its task alone waits for it.
    written: Notify,
    /// Rung when there is room to write; whoever has something to send waits for it.
    room: Notify,
    /// As many as may be in flight; closed when no more calls are to begin here.
    slots: Arc<Semaphore>,
}

#[derive(Debug)]
struct State {
    session: Session,
    out: VecDeque<Frame>,
    out_bytes: usize,
    /// Only the last is answered: a server that pings without reading shall not be kept account of.
    pong: Option<Frame>,
    calls: BTreeMap<u64, Entry>,
    fate: Option<Failure>,
    leaving: bool,
    served: bool,
}

#[derive(Debug)]
struct Entry {
    call: Arc<Call>,
    _slot: OwnedSemaphorePermit,
}

impl Link {
    pub(super) fn new(session: Session, agreed: Agreed) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(agreed.max_inflight.min(1 << 16) as usize)),
            agreed,
            state: Mutex::new(State {
                session,
                out: VecDeque::new(),
                out_bytes: 0,
                pong: None,
                calls: BTreeMap::new(),
                fate: None,
                leaving: false,
                served: false,
            }),
            written: Notify::new(),
            room: Notify::new(),
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        let state = lock(&self.state);
        state.fate.is_none() && !state.leaving
    }

    /// Whether it has ever given an answer.
    pub(super) fn has_served(&self) -> bool {
        lock(&self.state).served
    }

    /// A place for one more call; nothing when there will be none here any more.
    pub(super) async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }

    /// Begins a call; the id is nothing when the link has just become unusable.
    pub(super) async fn open(
        &self,
        slot: OwnedSemaphorePermit,
        opening: &Opening,
        payload: &Bytes,
        ends: bool,
    ) -> Result<Option<(u64, Arc<Call>)>, Failure> {
        self.has_room().await;
        let mut state = lock(&self.state);
        if state.fate.is_some() || state.leaving {
            return Ok(None);
        }
        let frame = match state.session.open(opening, payload.clone(), ends) {
            Ok(frame) => frame,
            // The slots are as many as may be in flight, so this is a call that has just ended.
            Err(Unsent::Full | Unsent::Draining) => return Ok(None),
            Err(unsent) => return Err(unsent.into()),
        };
        let (id, call) = (frame.header.corr_id, Arc::<Call>::default());
        let entry = Entry {
            call: Arc::clone(&call),
            _slot: slot,
        };
        state.calls.insert(id, entry);
        self.queue(&mut state, Some(frame));
        Ok(Some((id, call)))
    }

    /// As much of `payload` as there is credit for, and the end with the last of it; how much it was, or nothing when
    /// the call is over.
    pub(super) async fn send(&self, id: u64, payload: &Bytes, ends: bool) -> Option<usize> {
        self.has_room().await;
        let mut state = lock(&self.state);
        if state.fate.is_some() {
            return None;
        }
        let most = state.session.sendable(id)?;
        let bytes = payload.len().min(most);
        let is_last = ends && bytes == payload.len();
        if bytes == 0 && !is_last {
            return Some(0);
        }
        let frame = state.session.data(id, payload.slice(..bytes), is_last);
        self.queue(&mut state, Some(frame.ok()?));
        Some(bytes)
    }

    pub(super) fn consumed(&self, id: u64, bytes: usize) {
        let mut state = lock(&self.state);
        let credit = state.session.consumed(id, bytes);
        self.queue(&mut state, credit);
    }

    pub(super) fn cancel(&self, id: u64) {
        let mut state = lock(&self.state);
        let reset = state.session.cancel(id);
        if let Some(entry) = self.forget(&mut state, id) {
            // The other half of the call, if somebody still waits there.
            entry.call.fail(Failure::Reset {
                status: 499,
                reason: "canceled".to_owned(),
            });
        }
        self.queue(&mut state, reset);
    }

    fn queue(&self, state: &mut State, frame: Option<Frame>) {
        let Some(frame) = frame else { return };
        if state.fate.is_none() {
            state.out_bytes += frame.wire_len();
            state.out.push_back(frame);
            self.written.notify_one();
        }
    }

    async fn has_room(&self) {
        loop {
            let room = self.room.notified();
            let mut room = std::pin::pin!(room);
            // Before looking, or else what is rung in between would be missed.
            room.as_mut().enable();
            {
                let state = lock(&self.state);
                if state.out_bytes < OUT_BYTES_MAX || state.fate.is_some() {
                    return;
                }
            }
            room.await;
        }
    }

    /// The next frame to write, if there is one now.
    pub(super) fn next_out(&self) -> Option<Frame> {
        let mut state = lock(&self.state);
        let Some(frame) = state.out.pop_front() else {
            return state.pong.take();
        };
        let was_full = state.out_bytes >= OUT_BYTES_MAX;
        state.out_bytes -= frame.wire_len();
        if was_full && state.out_bytes < OUT_BYTES_MAX {
            self.room.notify_waiters();
        }
        Some(frame)
    }

    /// Waits until there may be something to write, or nothing more to do.
    pub(super) async fn stirred(&self) {
        self.written.notified().await;
    }

    /// Whether no more calls begin here and none is left.
    pub(super) fn is_done(&self) -> bool {
        let state = lock(&self.state);
        state.fate.is_some() || (state.leaving && state.calls.is_empty() && state.out.is_empty())
    }

    /// What a frame of the server's means to whom.
    pub(super) fn receive(&self, frame: Frame) -> Result<(), Failure> {
        let mut state = lock(&self.state);
        match state.session.receive(frame)? {
            Event::Response { header, payload } | Event::Data { header, payload } => {
                state.served = true;
                let id = header.corr_id;
                if let Some(entry) = state.calls.get(&id) {
                    entry.call.push(Piece { header, payload });
                }
                if header.ends() {
                    self.forget(&mut state, id);
                }
            }
            Event::Credit(id) => {
                if let Some(entry) = state.calls.get(&id) {
                    entry.call.has_credit();
                }
            }
            Event::Reset { id, reset } => {
                let failure = Failure::Reset {
                    status: reset.status,
                    reason: text(&reset.reason),
                };
                if let Some(entry) = self.forget(&mut state, id) {
                    entry.call.fail(failure);
                }
            }
            Event::GoAway(away) => self.go_away(&mut state, &away),
            Event::Failed { status, problem } => {
                let reason = problem.map_or_else(String::new, |problem| problem.reason.into());
                return Err(Failure::Refused { status, reason });
            }
            Event::Answer(pong) => {
                state.pong = Some(pong);
                self.written.notify_one();
            }
            _ => (),
        }
        Ok(())
    }

    fn forget(&self, state: &mut State, id: u64) -> Option<Entry> {
        let entry = state.calls.remove(&id);
        if state.leaving {
            self.written.notify_one();
        }
        entry
    }

    fn go_away(&self, state: &mut State, away: &GoAway) {
        self.leave_with(state);
        let unseen = state.calls.split_off(&away.last_id.saturating_add(1));
        for (id, entry) in unseen {
            // It was not looked at, and needs no frame to be forgotten.
            state.session.cancel(id);
            entry.call.fail(Failure::Lost {
                unseen: true,
                why: format!("the server leaves: {}", text(&away.reason)),
            });
        }
    }

    fn leave_with(&self, state: &mut State) {
        state.leaving = true;
        self.slots.close();
        self.written.notify_one();
    }

    /// No more calls begin here; the task ends with the last one.
    pub(super) fn leave(&self) {
        self.leave_with(&mut lock(&self.state));
    }

    /// Ends everything on it.
    pub(super) fn fail(&self, failure: &Failure) {
        let mut state = lock(&self.state);
        state.fate.get_or_insert_with(|| failure.clone());
        state.out.clear();
        state.out_bytes = 0;
        for (_, entry) in std::mem::take(&mut state.calls) {
            entry.call.fail(failure.clone());
        }
        self.slots.close();
        self.room.notify_waiters();
        self.written.notify_one();
    }
}

pub(super) fn text(reason: &[u8]) -> String {
    String::from_utf8_lossy(reason).into_owned()
}
