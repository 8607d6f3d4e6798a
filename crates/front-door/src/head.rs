//! Watches the bytes of an HTTP/1 connection go by and sees every head in full, pipelined ones too.
//!
//! The parser behind takes a bare line feed for the end of a line; others do not, and what two readers see
//! differently one request can hide in another. So each head is looked at here. Where a head ends is plain to see,
//! where the next one begins only the parser knows: what follows a head is held back until it has said so.

use memchr::memchr_iter;

use chunks::{Chunks, Walk};

mod chunks;

/// How the body that follows a head is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// By its length, which may be nothing.
    Length(u64),
    /// By chunks.
    Chunked,
    /// Not at all: from here on it is another protocol.
    Through,
}

/// What may pass at this moment.
#[derive(Debug)]
enum Phase {
    Head(HeadLines),
    /// A head has passed; its framing is not known yet.
    Hold,
    Body(u64),
    Chunked(Chunks),
    Through,
    /// What should be a body is none: nothing that follows can be told from it.
    Broken,
}

/// The guard of one connection.
#[derive(Debug)]
pub(crate) struct HeadGuard {
    phase: Phase,
    /// The head that passes, or has passed last, had a bare line feed.
    dirty: bool,
}

/// The lines of a head, as far as they have passed.
#[derive(Debug, Default)]
struct HeadLines {
    /// Bytes of the line that is passing.
    line: usize,
    /// The last of them.
    last: u8,
    /// The request line is complete.
    requested: bool,
    /// Any byte has passed.
    begun: bool,
}

impl HeadGuard {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::Head(HeadLines::default()),
            dirty: false,
        }
    }

    /// How many of `bytes` may go on; the rest has to be shown again later.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> usize {
        let mut passed = 0;
        while passed < bytes.len() {
            let rest = &bytes[passed..];
            passed += match &mut self.phase {
                Phase::Hold | Phase::Broken => break,
                Phase::Through => rest.len(),
                Phase::Head(head) => {
                    let seen = head.look(rest);
                    self.dirty |= seen.dirty;
                    if seen.complete {
                        self.phase = Phase::Hold;
                    }
                    seen.length
                }
                Phase::Body(left) => {
                    let taken = rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= taken as u64;
                    if *left == 0 {
                        self.next_head();
                    }
                    taken
                }
                Phase::Chunked(chunks) => match chunks.walk(rest) {
                    Walk::More => rest.len(),
                    Walk::End(length) => {
                        self.next_head();
                        length
                    }
                    Walk::Broken => {
                        self.phase = Phase::Broken;
                        break;
                    }
                },
            };
        }
        passed
    }

    /// The parser has read the head and says what follows.
    pub(crate) fn told(&mut self, framing: Framing) {
        match framing {
            Framing::Length(0) => self.next_head(),
            Framing::Length(length) => self.phase = Phase::Body(length),
            Framing::Chunked => self.phase = Phase::Chunked(Chunks::default()),
            Framing::Through => self.phase = Phase::Through,
        }
    }

    /// Whether the head that has passed was one that could be read in two ways.
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// Whether a body turned out to be none. The parser mostly sees that too, but is kinder to line feeds.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self.phase, Phase::Broken)
    }

    /// Whether nothing passes until the framing is told.
    pub(crate) fn holds(&self) -> bool {
        matches!(self.phase, Phase::Hold)
    }

    /// Whether a head has begun to pass and not ended.
    pub(crate) fn is_inside_head(&self) -> bool {
        matches!(&self.phase, Phase::Head(head) if head.begun)
    }

    /// Whether the next byte is the first of a head.
    pub(crate) fn is_between_requests(&self) -> bool {
        matches!(&self.phase, Phase::Head(head) if !head.begun)
    }

    /// Whether the request line of the head that passes is complete.
    pub(crate) fn has_request_line(&self) -> bool {
        match &self.phase {
            Phase::Head(head) => head.requested,
            _ => true,
        }
    }

    fn next_head(&mut self) {
        self.phase = Phase::Head(HeadLines::default());
        self.dirty = false;
    }
}

struct Seen {
    length: usize,
    complete: bool,
    dirty: bool,
}

impl HeadLines {
    fn look(&mut self, bytes: &[u8]) -> Seen {
        self.begun = true;
        let (mut from, mut dirty) = (0, false);
        for at in memchr_iter(b'\n', bytes) {
            let length = self.line + at - from;
            let last = if at > from { bytes[at - 1] } else { self.last };
            let returned = length > 0 && last == b'\r';
            dirty |= !returned;
            let empty = length == usize::from(returned);
            (self.line, self.last, from) = (0, 0, at + 1);
            if !empty {
                self.requested = true;
            } else if self.requested {
                return Seen {
                    length: at + 1,
                    complete: true,
                    dirty,
                };
            }
        }
        self.line += bytes.len() - from;
        self.last = bytes.last().copied().unwrap_or(self.last);
        Seen {
            length: bytes.len(),
            complete: false,
            dirty,
        }
    }
}

#[cfg(test)]
mod tests;
