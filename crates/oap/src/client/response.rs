//! An answer as it comes.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::time::{Instant, timeout_at};

use super::Failure;
use super::call::{Call, Piece};
use super::link::Link;
use crate::{Flags, Header, Inflater, Problem};

/// A call without its answer. Dropping it tells the server that nobody waits any more.
#[derive(Debug)]
pub struct Pending {
    pub(super) link: Arc<Link>,
    pub(super) call: Arc<Call>,
    pub(super) id: u64,
    pub(super) deadline: Instant,
    /// Nothing more is to be told: it was answered to the end, or failed.
    pub(super) done: bool,
}

impl Pending {
    /// The answer, once it begins.
    pub async fn answer(mut self) -> Result<Response, Failure> {
        let Piece { header, payload } = self.piece().await?;
        let compressed = header.flags.has(Flags::COMP);
        let codec = self.link.agreed.codec.filter(|_| compressed);
        let mut response = Response {
            inflater: codec.map(Inflater::new),
            call: self,
            header,
            first: Bytes::new(),
            rest: Bytes::new(),
            ended: header.ends(),
        };
        response.first = response.inflate(payload)?;
        Ok(response)
    }

    async fn piece(&mut self) -> Result<Piece, Failure> {
        let piece = match timeout_at(self.deadline, self.call.piece()).await {
            Ok(piece) => piece,
            Err(_) => return Err(Failure::Deadline),
        };
        self.done = piece.as_ref().map_or(true, |piece| piece.header.ends());
        piece
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.done {
            self.link.cancel(self.id);
        }
    }
}

/// An answer, of which more may come. Dropping it before its end tells the server to stop.
#[derive(Debug)]
pub struct Response {
    call: Pending,
    header: Header,
    /// Of the first frame; the head of a bridged answer is in it.
    first: Bytes,
    /// Compressed bytes that were not looked at yet.
    rest: Bytes,
    inflater: Option<Inflater>,
    ended: bool,
}

impl Response {
    /// As in HTTP.
    pub fn status(&self) -> u16 {
        self.header.code
    }

    /// What the first frame said beside its payload.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What an answer of 400 and above says, if it says something.
    pub fn problem(&self) -> Option<Problem> {
        (self.status() >= 400)
            .then(|| Problem::from_payload(&self.first))
            .flatten()
    }

    /// The payload of the first frame, as far as [`next`](Self::next) has not given it: a head is taken from here.
    pub fn first(&mut self) -> &mut Bytes {
        &mut self.first
    }

    /// The next piece; nothing after the last.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            if !self.first.is_empty() {
                return Ok(Some(std::mem::take(&mut self.first)));
            }
            if let Some(piece) = self.more_of_rest()? {
                return Ok(Some(piece));
            }
            if self.ended {
                return self.finish().map(|()| None);
            }
            let Piece { header, payload } = self.call.piece().await?;
            self.ended = header.ends();
            self.call.link.consumed(self.call.id, payload.len());
            match self.inflater {
                Some(_) => self.rest = payload,
                None => self.first = payload,
            }
        }
    }

    /// All that is left, if it is not more than `most` bytes.
    pub async fn collect(mut self, most: usize) -> Result<Bytes, Failure> {
        // Most answers are one piece, which need not be copied.
        let Some(first) = self.wanted(most).await? else {
            return Ok(Bytes::new());
        };
        let Some(second) = self.wanted(most - first.len()).await? else {
            return Ok(first);
        };
        let mut all = BytesMut::from(&first[..]);
        all.extend_from_slice(&second);
        while let Some(piece) = self.wanted(most - all.len()).await? {
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
    }

    async fn wanted(&mut self, most: usize) -> Result<Option<Bytes>, Failure> {
        match self.next().await? {
            Some(piece) if piece.len() > most => Err(Failure::Large),
            piece => Ok(piece),
        }
    }

    fn inflate(&mut self, payload: Bytes) -> Result<Bytes, Failure> {
        let wire_bytes = payload.len();
        let plain = match &mut self.inflater {
            Some(inflater) => inflater.inflate(payload).map_err(Failure::Decoded)?,
            None => payload,
        };
        self.call.link.consumed(self.call.id, wire_bytes);
        Ok(plain)
    }

    fn more_of_rest(&mut self) -> Result<Option<Bytes>, Failure> {
        match &mut self.inflater {
            Some(inflater) => inflater.next(&mut self.rest).map_err(Failure::Decoded),
            None => Ok(None),
        }
    }

    fn finish(&self) -> Result<(), Failure> {
        match &self.inflater {
            Some(inflater) => inflater.finish().map_err(Failure::Decoded),
            None => Ok(()),
        }
    }
}
