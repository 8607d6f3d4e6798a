//! The beginning of a request: its service answers at once, or it is under way.

use bytes::Bytes;
use oap::{Flags, Header, Meta, Unsent};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::Connection;
use crate::body::Inflow;
use crate::message::{self, Begun, Message};
use crate::service::{Content, Outflow, Reply};

impl<IO: AsyncRead + AsyncWrite + Unpin> Connection<IO> {
    /// A request begins, or is there as a whole.
    pub(super) fn begin(&mut self, header: Header, meta: Meta, payload: Bytes, now: Instant) {
        let compressed = header.flags.has(Flags::COMP);
        let codec = self.session.agreed().and_then(|agreed| agreed.codec);
        let held = if header.ends() { payload.len() } else { 0 };
        let message = Message {
            header,
            meta,
            token: self.token.clone(),
            content: self.content(&header, payload),
            codec: codec.filter(|_| compressed),
            visit: self.visit.clone(),
            began: now,
            patience: self.settings.write,
        };
        match message::begin(&self.house.transport, message) {
            Ok(Begun::Answered(reply)) => self.reply_at_once(header, now, reply),
            Ok(Begun::Working(work)) => self.employ(header, now, held, work),
            Err(refusal) => self.refuse(header, now, refusal),
        }
    }

    fn content(&mut self, header: &Header, payload: Bytes) -> Content {
        if header.ends() {
            return Content::Whole(payload);
        }
        let inflow = Inflow::new(&self.waker);
        inflow.put(payload, false);
        self.answering.upload(header.corr_id, inflow.clone());
        Content::Stream(inflow)
    }

    /// An answer that fits into a frame leaves as one; there is room for it, or nothing would have been heard.
    fn reply_at_once(&mut self, header: Header, began: Instant, reply: Reply) {
        let Outflow::Whole(body) = &reply.body else {
            return self.queue(header, began, reply);
        };
        if !reply.head.is_empty() || !header.ends() {
            return self.queue(header, began, reply);
        }
        let (id, status) = (header.corr_id, reply.status);
        match self.session.respond(id, status, body.clone(), true, false) {
            Ok(frame) => {
                self.send(frame);
                self.count(&header, began, status);
            }
            Err(Unsent::TooLarge) => self.queue(header, began, reply),
            Err(_) => self.let_go(id),
        }
    }
}
