//! A request that is sent piece by piece.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use tokio::time::{Instant, timeout_at};

use super::Failure;
use super::call::Call;
use super::link::Link;
use crate::limits::CHUNK_BYTES_MAX;
use crate::{Codec, Inflater, Unsent};

/// The rest of a request. Dropping it before [`end`](Self::end) tells the server that there will be no more.
#[derive(Debug)]
pub struct Upload {
    pub(super) link: Arc<Link>,
    pub(super) call: Arc<Call>,
    pub(super) id: u64,
    pub(super) deadline: Instant,
    pub(super) codec: Option<Codec>,
    pub(super) done: bool,
}

impl Upload {
    /// Sends more, as fast as the server takes it.
    pub async fn send(&mut self, payload: Bytes) -> Result<(), Failure> {
        self.go(payload, false).await
    }

    /// Sends the last of it, which may be empty.
    pub async fn end(mut self, payload: Bytes) -> Result<(), Failure> {
        self.go(payload, true).await?;
        self.done = true;
        Ok(())
    }

    async fn go(&mut self, payload: Bytes, ends: bool) -> Result<(), Failure> {
        let payload = match self.codec {
            // Even an empty end: a message without a byte is not one that was compressed.
            Some(codec) if ends || !payload.is_empty() => packed(codec, &payload)?,
            _ => payload,
        };
        match timeout_at(self.deadline, self.push(payload, ends)).await {
            Ok(pushed) => pushed,
            Err(_) => Err(Failure::Deadline),
        }
    }

    async fn push(&mut self, mut payload: Bytes, ends: bool) -> Result<(), Failure> {
        loop {
            let Some(sent) = self.link.send(self.id, &payload, ends).await else {
                // Answered before it was all sent, or given up.
                self.done = true;
                let fate = self.call.fate();
                return Err(fate.unwrap_or(Failure::Unsent(Unsent::Over)));
            };
            payload.advance(sent);
            if payload.is_empty() {
                return Ok(());
            }
            if sent == 0 {
                self.call.credited().await;
            }
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if !self.done {
            self.link.cancel(self.id);
        }
    }
}

pub(super) fn packed(codec: Codec, payload: &Bytes) -> Result<Bytes, Failure> {
    codec
        .compress(payload)
        .map_err(|_| Failure::Unsent(Unsent::Unlawful))
}

/// A whole message, compressed unless that is in vain, or so good that the server would take it for a bomb.
pub(super) fn worthwhile(codec: Codec, payload: &Bytes) -> Result<(Bytes, bool), Failure> {
    let smaller = packed(codec, payload)?;
    // The server counts as it reads on, so only reading it the same way tells; small messages are never bombs.
    let is_bomb =
        payload.len() > CHUNK_BYTES_MAX && Inflater::new(codec).inflate(smaller.clone()).is_err();
    Ok(match smaller.len() < payload.len() && !is_bomb {
        true => (smaller, true),
        false => (payload.clone(), false),
    })
}
