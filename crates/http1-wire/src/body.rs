//! The body of an answer, as it comes.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;

use crate::answer::Framing;
use crate::chunks::{Chunks, Step};
use crate::fault::Fault;

/// A part of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// Its bytes.
    Data(Bytes),
    /// The fields after the last of them.
    Trailers(HeaderMap),
}

/// Takes a body out of what comes.
#[derive(Debug)]
pub struct BodyReader {
    until: Until,
}

#[derive(Debug)]
enum Until {
    /// Bytes still to come.
    Length(u64),
    Chunks(Chunks),
    Close,
}

impl BodyReader {
    /// For a body that is delimited like this.
    pub fn new(framing: Framing) -> Self {
        let until = match framing {
            Framing::Length(length) => Until::Length(length),
            Framing::Chunked => Until::Chunks(Chunks::new()),
            Framing::UntilClose => Until::Close,
            Framing::Switched => Until::Length(0),
        };
        Self { until }
    }

    /// The next piece of what is here; nothing when more has to come first, or the body is done.
    pub fn next(&mut self, inbox: &mut BytesMut) -> Result<Option<Piece>, Fault> {
        let here = match &mut self.until {
            Until::Chunks(chunks) => {
                return Ok(match chunks.next(inbox)? {
                    Step::Data(data) => Some(Piece::Data(data)),
                    Step::Trailers(trailers) => Some(Piece::Trailers(trailers)),
                    Step::Wait | Step::End => None,
                });
            }
            Until::Length(left) => {
                let here = usize::try_from(*left)
                    .unwrap_or(usize::MAX)
                    .min(inbox.len());
                *left -= here as u64;
                here
            }
            Until::Close => inbox.len(),
        };
        Ok((here > 0).then(|| Piece::Data(inbox.split_to(here).freeze())))
    }

    /// The peer will send nothing more.
    pub fn close(&mut self) -> Result<(), Fault> {
        match self.until {
            Until::Close => self.until = Until::Length(0),
            _ if self.is_done() => {}
            _ => return Err(Fault::Short),
        }
        Ok(())
    }

    /// Whether all of it has been taken.
    pub fn is_done(&self) -> bool {
        match &self.until {
            Until::Length(left) => *left == 0,
            Until::Chunks(chunks) => chunks.is_done(),
            Until::Close => false,
        }
    }

    /// How many bytes are still to be taken, where that was said.
    pub fn left(&self) -> Option<u64> {
        match &self.until {
            Until::Length(left) => Some(*left),
            Until::Chunks(chunks) => chunks.is_done().then_some(0),
            Until::Close => None,
        }
    }
}

#[cfg(test)]
mod tests;
