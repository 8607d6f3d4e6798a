//! What a codec writes in one go, gathered: many small answers leave in one piece.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

/// No more is gathered. What is larger goes out as it lies, behind what was gathered before it.
const MOST: usize = 16 * 1024;
/// Slices that leave at once, the batch's own among them.
const SLICES: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Batch {
    /// No memory of its own while nothing waits: most connections rest.
    bytes: Vec<u8>,
    /// How many of them have gone out.
    gone: usize,
    unflushed: bool,
}

impl Batch {
    /// Whether something waits to be sent.
    pub(super) fn is_waiting(&self) -> bool {
        self.gone < self.bytes.len()
    }

    /// Whether something was sent that lies in a buffer below.
    pub(super) fn is_unflushed(&self) -> bool {
        self.unflushed
    }

    pub(super) fn flushed(&mut self) {
        self.unflushed = false;
    }

    /// Takes all of it, and says how much that is; `None` if there is no room.
    pub(super) fn take_in(&mut self, bufs: &[IoSlice<'_>]) -> Option<usize> {
        let length: usize = bufs.iter().map(|buf| buf.len()).sum();
        if self.bytes.len() + length > MOST {
            return None;
        }
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(MOST);
        }
        bufs.iter()
            .for_each(|buf| self.bytes.extend_from_slice(buf));
        Some(length)
    }

    /// Writes what waits, and behind it `bufs`.
    pub(super) fn poll_write_with(
        &self,
        socket: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        slices[0] = IoSlice::new(&self.bytes[self.gone..]);
        let mut filled = 1;
        for (slice, buf) in slices[1..].iter_mut().zip(bufs) {
            *slice = IoSlice::new(buf);
            filled += 1;
        }
        let first = usize::from(!self.is_waiting() && filled > 1);
        Pin::new(socket).poll_write_vectored(cx, &slices[first..filled])
    }

    /// So many bytes have gone out: shows those of the batch, and says how many were behind it.
    pub(super) fn sent(&mut self, total: usize, see: impl FnOnce(&[u8])) -> usize {
        self.unflushed = true;
        let own = total.min(self.bytes.len() - self.gone);
        see(&self.bytes[self.gone..self.gone + own]);
        self.gone += own;
        if !self.is_waiting() {
            (self.bytes, self.gone) = (Vec::new(), 0);
        }
        total - own
    }
}

#[cfg(test)]
mod tests;
