//! From bytes to what they mean.

use std::task::{Context, Poll};

use bytes::BytesMut;
use futures_util::FutureExt as _;
use kernel::clock;
use oap::{Decoder, Event};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::time::Instant;

use super::{Connection, Stage};

/// Bytes that are read at once from a connection at rest, and made room for at least once a frame has begun.
const READ_BYTES: usize = 8 * 1024;
/// Bytes that are read at once from a connection that had as much as that to say.
const FLOW_BYTES: usize = 32 * 1024;

impl<IO: AsyncRead + AsyncWrite + Unpin> Connection<IO> {
    /// Whether more can be taken in: who is answered slowly is heard slowly.
    fn may_hear(&self) -> bool {
        self.stage != Stage::Dismissed
            && self.outbox.has_room()
            && self.answering.held_bytes() < self.settings.held_bytes
    }

    /// Reads what has come; whether something has.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> std::io::Result<bool> {
        if self.heard_all || self.behind || !self.may_hear() {
            return Ok(false);
        }
        let read = match self.inbox.is_empty() && !self.flows {
            true => front_door::poll_sip_of::<READ_BYTES>(&mut self.io, cx).map_ok(|sip| {
                self.inbox = sip;
                self.inbox.len()
            }),
            false => {
                // As much again as has come: what is only announced costs nothing.
                let earned = self.inbox.len().max(READ_BYTES);
                let want = self.decoder.want(&self.inbox).max(READ_BYTES);
                self.inbox.reserve(match self.flows {
                    true => FLOW_BYTES,
                    false => want.min(earned),
                });
                let mut reading = std::pin::pin!(self.io.read_buf(&mut self.inbox));
                reading.poll_unpin(cx)
            }
        };
        match read {
            Poll::Pending => {
                self.flows = false;
                self.rest();
                Ok(false)
            }
            Poll::Ready(Ok(0)) => {
                self.heard_all = true;
                self.answering.hear_no_more();
                self.times.partial(false, false, clock::now());
                Ok(true)
            }
            Poll::Ready(Ok(read)) => {
                self.flows = read >= READ_BYTES;
                self.times.read(clock::now());
                Ok(true)
            }
            Poll::Ready(Err(error)) => Err(error),
        }
    }

    /// Takes up to so many frames out of what was read, as long as there is room for what they ask for; whether there
    /// were any.
    pub(super) fn listen(&mut self, frames: &mut usize) -> bool {
        if self.inbox.is_empty() {
            return false;
        }
        let (before, now, mut is_partial) = (*frames, clock::now(), false);
        while *frames > 0 && self.may_hear() && !self.inbox.is_empty() {
            match self.decoder.decode(&mut self.inbox) {
                Ok(Some(frame)) => {
                    *frames -= 1;
                    match self.session.receive(frame) {
                        Ok(event) => self.heed(event, now),
                        Err(violation) => self.dismiss(violation),
                    }
                }
                Ok(None) => {
                    is_partial = !self.heard_all;
                    break;
                }
                Err(violation) => self.dismiss(violation),
            }
        }
        self.behind = *frames == 0 && !self.inbox.is_empty();
        if !self.flows {
            self.rest();
        }
        let heard = before - *frames;
        self.house.transport.metrics.read.inc_by(heard as u64);
        if is_partial || heard > 0 {
            self.times.partial(heard > 0, is_partial, now);
        }
        heard > 0
    }

    /// A resting connection keeps no buffer.
    fn rest(&mut self) {
        if self.inbox.is_empty() {
            self.inbox = BytesMut::new();
        }
    }

    fn heed(&mut self, event: Event, now: Instant) {
        match event {
            Event::Hello { meta, answer } => {
                self.token = meta.token;
                let agreed = self.session.agreed();
                let most = agreed.map(|agreed| agreed.max_frame);
                self.decoder = most.map_or_else(Decoder::default, Decoder::new);
                self.send(answer);
            }
            Event::Request {
                header,
                meta,
                payload,
            } => self.begin(header, meta, payload, now),
            Event::Data { header, payload } => {
                self.answering.more(header.corr_id, payload, header.ends());
            }
            Event::Reset { id, .. } => self.give_up(id),
            Event::Refused { header, refusal } => self.turn_away(header, refusal.into()),
            Event::Answer(frame) => self.send(frame),
            // Credit is looked at when there is something to send; the rest is a client's.
            Event::Credit(_)
            | Event::Dropped
            | Event::Pong(_)
            | Event::Greeted
            | Event::Response { .. }
            | Event::GoAway(_)
            | Event::Failed { .. } => {}
        }
    }
}
