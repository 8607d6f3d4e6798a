//! One call, as the connection and the caller share it.

use std::collections::VecDeque;
use std::sync::Mutex;

use bytes::Bytes;
use tokio::sync::Notify;

use super::Failure;
use super::link::lock;
use crate::Header;

/// What has come of an answer and was not taken yet: one window at most, or one whole message.
#[derive(Debug, Default)]
pub(super) struct Call {
    inner: Mutex<Inner>,
    /// Rung when something has come; the reader alone waits for it.
    answer: Notify,
    /// Rung when there is credit; the writer alone waits for it.
    credit: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    pieces: VecDeque<Piece>,
    /// Said once all pieces are taken.
    fate: Option<Failure>,
}

/// A frame of an answer.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) header: Header,
    pub(super) payload: Bytes,
}

impl Call {
    pub(super) fn push(&self, piece: Piece) {
        lock(&self.inner).pieces.push_back(piece);
        self.answer.notify_one();
    }

    /// Ends the call; the first end counts.
    pub(super) fn fail(&self, failure: Failure) {
        lock(&self.inner).fate.get_or_insert(failure);
        self.answer.notify_one();
        self.credit.notify_one();
    }

    pub(super) fn has_credit(&self) {
        self.credit.notify_one();
    }

    pub(super) fn fate(&self) -> Option<Failure> {
        lock(&self.inner).fate.clone()
    }

    pub(super) async fn piece(&self) -> Result<Piece, Failure> {
        loop {
            if let Some(next) = self.take() {
                return next;
            }
            self.answer.notified().await;
        }
    }

    fn take(&self) -> Option<Result<Piece, Failure>> {
        let mut inner = lock(&self.inner);
        match inner.pieces.pop_front() {
            Some(piece) => Some(Ok(piece)),
            None => inner.fate.clone().map(Err),
        }
    }

    pub(super) async fn credited(&self) {
        self.credit.notified().await;
    }
}
