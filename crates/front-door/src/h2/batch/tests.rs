use std::task::Waker;

use super::*;

/// A socket that takes so many bytes of each write.
struct Narrow {
    takes: usize,
    took: Vec<u8>,
    writes: usize,
}

impl AsyncWrite for Narrow {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = buf.len().min(self.takes);
        self.took.extend_from_slice(&buf[..taken]);
        self.writes += 1;
        Poll::Ready(Ok(taken))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
        self.poll_write(cx, &all)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn narrow(takes: usize) -> Narrow {
    Narrow {
        takes,
        took: Vec::new(),
        writes: 0,
    }
}

/// Writes once; how many bytes behind the batch went out.
fn write(batch: &mut Batch, socket: &mut Narrow, bufs: &[IoSlice<'_>]) -> usize {
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(total)) = batch.poll_write_with(socket, &mut cx, bufs) else {
        panic!("it always takes something");
    };
    let (mut seen, before) = (Vec::new(), socket.took.len() - total);
    let behind = batch.sent(total, |bytes| seen.extend_from_slice(bytes));
    assert_eq!(seen, socket.took[before..before + total - behind]);
    behind
}

// req: GW-01
#[test]
fn many_pieces_leave_in_one_write() {
    let (mut batch, mut socket) = (Batch::default(), narrow(usize::MAX));
    for piece in [&b"one "[..], b"two ", b"three"] {
        let (head, body) = piece.split_at(2);
        let bufs = [IoSlice::new(head), IoSlice::new(body)];
        assert_eq!(batch.take_in(&bufs), Some(piece.len()));
    }
    assert!(batch.is_waiting() && !batch.is_unflushed());
    assert_eq!(write(&mut batch, &mut socket, &[]), 0);
    assert_eq!(
        (&socket.took[..], socket.writes),
        (&b"one two three"[..], 1)
    );
    assert!(!batch.is_waiting() && batch.is_unflushed());
    assert_eq!(batch.bytes.capacity(), 0, "nothing is kept while it rests");
}

// req: GW-01
#[test]
fn what_finds_no_room_goes_out_behind_the_rest_however_little_is_taken_at_a_time() {
    let large: Vec<u8> = (0..MOST).map(|at| at as u8).collect();
    for takes in [1, 3, 700, MOST, usize::MAX] {
        let (mut batch, mut socket) = (Batch::default(), narrow(takes));
        assert_eq!(batch.take_in(&[IoSlice::new(b"small ")]), Some(6));
        let mut left = &large[..];
        while !left.is_empty() {
            let bufs = [IoSlice::new(left)];
            let gone = match batch.take_in(&bufs) {
                Some(taken) => taken,
                None => write(&mut batch, &mut socket, &bufs),
            };
            left = &left[gone..];
        }
        while batch.is_waiting() {
            write(&mut batch, &mut socket, &[]);
        }
        assert_eq!(socket.took, [b"small ", &large[..]].concat(), "{takes}");
    }
}

#[test]
fn no_more_is_gathered_than_there_is_room_for() {
    let mut batch = Batch::default();
    let piece = [0; 1000];
    let bufs = [IoSlice::new(&piece)];
    let taken = (0..100)
        .take_while(|_| batch.take_in(&bufs).is_some())
        .count();
    assert_eq!(taken, MOST / 1000);
    assert!(batch.bytes.len() <= MOST && batch.bytes.capacity() <= MOST);
}
