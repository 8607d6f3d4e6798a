//! How much a connection does before others have their turn.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Frames. The codec deals with all that it can read before it answers any, and nobody else is served meanwhile.
const FRAMES: u32 = 64;
/// What opens a stream makes a task, and is as much work as this many others.
const OPENING: u32 = 8;
/// Of bodies, which cost by their length.
const BYTES: usize = 256 * 1024;
/// Bytes read at a time from who filled its last turn with small frames.
const SIP: usize = 512;

/// What was read since others had their turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    frames: u32,
    bytes: usize,
    /// Whether the last turn was full of frames.
    crowded: bool,
}

impl Turn {
    pub(super) fn came(&mut self, opens: bool) {
        self.frames += if opens { OPENING } else { 1 };
    }

    /// Reads, unless others come first.
    pub(super) fn poll_read(
        &mut self,
        socket: &mut (impl AsyncRead + Unpin),
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.frames >= FRAMES || self.bytes >= BYTES {
            *self = Self {
                crowded: self.frames >= FRAMES,
                ..Self::default()
            };
            // Woken when the runtime has looked at its sockets: who wakes itself at once keeps it from that.
            return pin!(tokio::task::yield_now()).poll(cx).map(Ok);
        }
        let before = buf.filled().len();
        let socket = Pin::new(socket);
        let polled = match self.crowded {
            false => socket.poll_read(cx, buf),
            true => sip(socket, cx, buf),
        };
        if polled.is_pending() {
            *self = Self::default();
        }
        ready!(polled)?;
        self.bytes += buf.filled().len() - before;
        Poll::Ready(Ok(()))
    }
}

fn sip(
    socket: Pin<&mut impl AsyncRead>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let room = buf.remaining().min(SIP);
    let mut part = ReadBuf::new(buf.initialize_unfilled_to(room));
    ready!(socket.poll_read(cx, &mut part))?;
    let length = part.filled().len();
    buf.advance(length);
    Poll::Ready(Ok(()))
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    const ROOM: usize = 8 * 1024;

    /// How much of what there is gets read; `None` when others come first.
    fn read(turn: &mut Turn, mut there: &[u8]) -> Option<usize> {
        let (mut bytes, mut cx) = ([0; ROOM], Context::from_waker(Waker::noop()));
        let mut buf = ReadBuf::new(&mut bytes);
        match turn.poll_read(&mut there, &mut cx, &mut buf) {
            Poll::Ready(read) => read.ok().map(|()| buf.filled().len()),
            Poll::Pending => None,
        }
    }

    // attack: B-01, B-09, B-10
    #[test]
    fn who_sends_many_frames_lets_others_in_and_is_read_in_sips() {
        let (mut turn, there) = (Turn::default(), [0; ROOM]);
        for (opens, frames) in [(false, FRAMES), (true, FRAMES / OPENING)] {
            for _ in 1..frames {
                turn.came(opens);
            }
            assert!(read(&mut turn, &there).is_some(), "{frames} are not there");
            turn.came(opens);
            assert_eq!(read(&mut turn, &there), None);
            assert_eq!(read(&mut turn, &there), Some(SIP));
            assert_eq!(read(&mut turn, &there), Some(SIP), "still a crowd");
            turn = Turn::default();
        }
    }

    #[test]
    fn a_body_is_read_by_the_buffer_and_lets_others_in_now_and_then() {
        let (mut turn, there) = (Turn::default(), [0; ROOM]);
        for _ in 0..3 {
            for _ in 0..BYTES / ROOM {
                turn.came(false);
                assert_eq!(read(&mut turn, &there), Some(ROOM));
            }
            assert_eq!(read(&mut turn, &there), None);
        }
    }

    #[tokio::test]
    async fn who_has_sent_all_begins_anew() {
        let (near, mut far) = tokio::io::duplex(ROOM);
        let mut turn = Turn {
            crowded: true,
            ..Turn::default()
        };
        let (mut bytes, mut cx) = ([0; ROOM], Context::from_waker(Waker::noop()));
        let mut near = near;
        let polled = turn.poll_read(&mut near, &mut cx, &mut ReadBuf::new(&mut bytes));
        assert!(polled.is_pending());
        tokio::io::AsyncWriteExt::write_all(&mut far, &[0; ROOM])
            .await
            .unwrap();
        let mut buf = ReadBuf::new(&mut bytes);
        assert!(turn.poll_read(&mut near, &mut cx, &mut buf).is_ready());
        assert_eq!(buf.filled().len(), ROOM);
    }
}
