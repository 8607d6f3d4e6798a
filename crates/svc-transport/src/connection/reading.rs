//! From bytes to what they mean.

use std::task::{Context, Poll};

use bytes::BytesMut;
use futures_util::FutureExt as _;
use kernel::clock;
use oap::{Decoder, Event};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};

use super::{Connection, Stage};

/// Bytes that are read at once from a connection at rest, and made room for at least once a frame has begun.
const READ_BYTES: usize = 8 * 1024;

impl<IO: AsyncRead + AsyncWrite + Unpin> Connection<IO> {
    /// Whether more can be taken in: who is answered slowly is heard slowly.
    fn may_hear(&self) -> bool {
        self.stage != Stage::Dismissed
            && self.outbox.has_room()
            && self.answering.held_bytes() < self.settings.held_bytes
    }

    /// Reads what has come; whether something has.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> std::io::Result<bool> {
        if self.heard_all || !self.may_hear() {
            return Ok(false);
        }
        let read = match self.inbox.is_empty() {
            true => front_door::poll_sip_of::<READ_BYTES>(&mut self.io, cx).map_ok(|sip| {
                self.inbox = sip;
                self.inbox.len()
            }),
            false => {
                // As much again as has come: what is only announced costs nothing.
                let earned = self.inbox.len().max(READ_BYTES);
                let want = self.decoder.want(&self.inbox).max(READ_BYTES);
                self.inbox.reserve(want.min(earned));
                let mut reading = std::pin::pin!(self.io.read_buf(&mut self.inbox));
                reading.poll_unpin(cx)
            }
        };
        match read {
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(0)) => {
                self.heard_all = true;
                self.answering.hear_no_more();
                self.times.partial(false, false, clock::now());
                Ok(true)
            }
            Poll::Ready(Ok(_)) => {
                self.times.read(clock::now());
                Ok(true)
            }
            Poll::Ready(Err(error)) => Err(error),
        }
    }

    /// Takes frames out of what was read, as long as there is room for what they ask for; whether there were any.
    pub(super) fn listen(&mut self) -> bool {
        let mut heard = false;
        while self.may_hear() && !self.inbox.is_empty() {
            match self.decoder.decode(&mut self.inbox) {
                Ok(Some(frame)) => {
                    heard = true;
                    self.house.transport.metrics.read.inc();
                    match self.session.receive(frame) {
                        Ok(event) => self.heed(event),
                        Err(violation) => self.dismiss(violation),
                    }
                }
                Ok(None) => break,
                Err(violation) => self.dismiss(violation),
            }
        }
        if self.inbox.is_empty() {
            // A resting connection keeps no buffer.
            self.inbox = BytesMut::new();
        }
        let is_partial = !self.inbox.is_empty() && self.may_hear() && !self.heard_all;
        if is_partial || heard {
            self.times.partial(heard, is_partial, clock::now());
        }
        heard
    }

    fn heed(&mut self, event: Event) {
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
            } => self.begin(header, meta, payload),
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
