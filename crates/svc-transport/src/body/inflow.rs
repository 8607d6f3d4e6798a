//! A stream between a connection, which puts in, and a service, which takes out. The credit that was granted bounds it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use kernel::lock::{Lock, LockSpec};

use crate::reject::Refusal;

/// Guards the pieces of a stream.
pub(crate) static INFLOW: LockSpec = LockSpec {
    name: "transport_inflow",
    level: 64,
    doc: "the pieces of a request that comes as a stream, between its connection and its service",
};

/// What of a request has come and is not yet taken.
pub(crate) struct Inflow {
    state: Lock<State>,
    /// The service, when it waits for more.
    reader: AtomicWaker,
    /// The connection: it grants what was taken.
    connection: Arc<AtomicWaker>,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Bytes>,
    /// No more comes: all is here, or why it never will be.
    end: Option<Result<(), Refusal>>,
    /// Bytes taken that nobody was told of yet.
    taken: usize,
    /// Nobody will take any more.
    abandoned: bool,
}

impl Inflow {
    /// An empty one, whose connection is woken by this when something was taken.
    pub(crate) fn new(connection: &Arc<AtomicWaker>) -> Arc<Self> {
        Arc::new(Self {
            state: Lock::new(&INFLOW, State::default()),
            reader: AtomicWaker::new(),
            connection: connection.clone(),
        })
    }

    /// The next piece has come, and perhaps the last.
    pub(crate) fn put(&self, piece: Bytes, ends: bool) {
        {
            let mut state = self.state.lock();
            match state.abandoned {
                true => state.taken += piece.len(),
                false if piece.is_empty() => {}
                false => state.pieces.push_back(piece),
            }
            if ends {
                state.end = Some(Ok(()));
            }
        }
        self.reader.wake();
    }

    /// No more will come.
    pub(crate) fn fail(&self, why: Refusal) {
        {
            let mut state = self.state.lock();
            state.end.get_or_insert(Err(why));
        }
        self.reader.wake();
    }

    /// Bytes taken since this was last asked.
    pub(crate) fn settle(&self) -> usize {
        std::mem::take(&mut self.state.lock().taken)
    }

    /// The next piece, for the service.
    pub(super) fn poll_take(&self, cx: &Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        self.reader.register(cx.waker());
        let mut state = self.state.lock();
        let Some(piece) = state.pieces.pop_front() else {
            return match state.end {
                None => Poll::Pending,
                Some(Ok(())) => Poll::Ready(None),
                Some(Err(why)) => Poll::Ready(Some(Err(why))),
            };
        };
        state.taken += piece.len();
        drop(state);
        self.connection.wake();
        Poll::Ready(Some(Ok(piece)))
    }

    /// Nobody reads on: what comes is taken by nobody, so that its sender is not held up.
    pub(super) fn abandon(&self) {
        {
            let mut state = self.state.lock();
            state.abandoned = true;
            let left: usize = state.pieces.drain(..).map(|piece| piece.len()).sum();
            state.taken += left;
        }
        self.connection.wake();
    }
}
