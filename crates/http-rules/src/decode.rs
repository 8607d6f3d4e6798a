//! The decode guard: bodies are decoded piece by piece, and never to more than their size warrants.

mod bad;
mod brotli;
mod coding;
mod gzip;
mod zstandard;

pub use bad::BadBody;
pub use coding::Coding;

use bytes::{Buf, Bytes};

/// Largest piece of output, and so the most that is decoded before the limits are looked at again.
pub const PIECE_BYTES: usize = 64 * 1024;
const PIECE_BYTES_MIN: usize = 4 * 1024;

/// How far a body may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Decoded bytes for each byte received so far.
    pub ratio: u64,
    /// The ratio holds only beyond this many decoded bytes: tiny bodies often exceed it lawfully.
    pub floor_bytes: u64,
    /// Decoded bytes in any case.
    pub cap_bytes: u64,
}

impl Limits {
    /// Ten times beyond 64 KiB, up to `cap_bytes`.
    pub const fn capped(cap_bytes: u64) -> Limits {
        Limits {
            ratio: 10,
            floor_bytes: 64 * 1024,
            cap_bytes,
        }
    }

    fn check(&self, received: u64, decoded: u64) -> Result<(), BadBody> {
        match decoded {
            _ if decoded > self.cap_bytes => Err(BadBody::Cap),
            _ if decoded > self.floor_bytes && decoded > received.saturating_mul(self.ratio) => {
                Err(BadBody::Ratio)
            }
            _ => Ok(()),
        }
    }
}

/// One body being decoded. Feed it with [`push`](Decoder::push) until that returns nothing, then give it more input;
/// at the end ask [`finish`](Decoder::finish) whether the body was whole.
pub struct Decoder {
    inner: Inner,
    limits: Limits,
    received: u64,
    decoded: u64,
    /// The last piece was full: there may be output that needs no more input.
    pending: bool,
    failed: Option<BadBody>,
}

enum Inner {
    Gzip(Box<gzip::Gzip>),
    Brotli(Box<brotli::Brotli>),
    Zstd(zstandard::Zstandard),
}

/// What one step of a decoder used and made.
#[derive(Clone, Copy, Debug)]
struct Step {
    used: usize,
    made: usize,
}

impl Decoder {
    /// For one body of this coding.
    pub fn new(coding: Coding, limits: Limits) -> Decoder {
        let inner = match coding {
            Coding::Gzip => Inner::Gzip(Box::default()),
            Coding::Brotli => Inner::Brotli(Box::default()),
            Coding::Zstd => Inner::Zstd(zstandard::Zstandard::default()),
        };
        Decoder {
            inner,
            limits,
            received: 0,
            decoded: 0,
            pending: false,
            failed: None,
        }
    }

    /// Takes from the front of `input` and returns the next piece, at most [`PIECE_BYTES`] long; nothing when all input
    /// is used and more is needed. Once it has failed it fails for good.
    pub fn push(&mut self, input: &mut Bytes) -> Result<Option<Bytes>, BadBody> {
        match self.failed {
            Some(bad) => Err(bad),
            None => self
                .piece(input)
                .inspect_err(|bad| self.failed = Some(*bad)),
        }
    }

    /// Says whether the body ended where its coding ends.
    pub fn finish(&self) -> Result<(), BadBody> {
        let whole = match &self.inner {
            Inner::Gzip(gzip) => gzip.is_whole(),
            Inner::Brotli(brotli) => brotli.is_whole(),
            Inner::Zstd(zstd) => zstd.is_whole(),
        };
        match (self.failed, whole && !self.pending) {
            (Some(bad), _) => Err(bad),
            (None, true) => Ok(()),
            (None, false) => Err(BadBody::Truncated),
        }
    }

    /// Decoded bytes so far.
    pub fn decoded_bytes(&self) -> u64 {
        self.decoded
    }

    fn piece(&mut self, input: &mut Bytes) -> Result<Option<Bytes>, BadBody> {
        if input.is_empty() && !self.pending {
            return Ok(None);
        }
        let size = input.len().saturating_mul(4);
        let mut piece = vec![0; size.clamp(PIECE_BYTES_MIN, PIECE_BYTES)];
        let mut filled = 0;
        loop {
            let step = self.step(input, &mut piece[filled..])?;
            input.advance(step.used);
            filled += step.made;
            self.received += step.used as u64;
            self.decoded += step.made as u64;
            self.limits.check(self.received, self.decoded)?;
            self.pending = filled == piece.len();
            let stalled = step.used == 0 && step.made == 0;
            if self.pending || stalled {
                break;
            }
        }
        if !input.is_empty() && !self.pending {
            return Err(BadBody::Broken);
        }
        piece.truncate(filled);
        Ok((filled > 0).then(|| Bytes::from(piece)))
    }

    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, BadBody> {
        match &mut self.inner {
            Inner::Gzip(gzip) => gzip.step(input, output),
            Inner::Brotli(brotli) => brotli.step(input, output),
            Inner::Zstd(zstd) => zstd.step(input, output),
        }
    }
}

#[cfg(test)]
mod tests;
