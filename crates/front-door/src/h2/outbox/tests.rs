//! Whatever is to be said arrives in order, however little of it a socket takes at a time, and nothing stays behind.

use std::task::Waker;

use proptest::prelude::*;

use super::*;

/// A socket that takes as much as it is told to, and then everything.
#[derive(Default)]
struct Taker {
    /// How much at a time; `None` makes the writer wait.
    takes: VecDeque<Option<usize>>,
    got: Vec<u8>,
    /// Where the parts of the last write lay, and how long they were.
    parts: Vec<(*const u8, usize)>,
    flushes: VecDeque<Poll<io::Result<()>>>,
    flushed: usize,
}

impl Taker {
    fn taking(takes: impl IntoIterator<Item = Option<usize>>) -> Self {
        Self {
            takes: takes.into_iter().collect(),
            ..Self::default()
        }
    }
}

impl AsyncWrite for Taker {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        assert!(parts.iter().all(|part| !part.is_empty()), "an empty part");
        self.parts = parts
            .iter()
            .map(|part| (part.as_ptr(), part.len()))
            .collect();
        let all: usize = parts.iter().map(|part| part.len()).sum();
        let Some(most) = self.takes.pop_front().unwrap_or(Some(usize::MAX)) else {
            return Poll::Pending;
        };
        let taken = most.min(all);
        let bytes = parts.iter().flat_map(|part| part.iter()).take(taken);
        self.got.extend(bytes);
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flushed += 1;
        self.flushes.pop_front().unwrap_or(Poll::Ready(Ok(())))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn write(outbox: &mut Outbox, socket: &mut Taker) -> Poll<io::Result<usize>> {
    outbox.poll_write(socket, &mut Context::from_waker(Waker::noop()))
}

fn flush(outbox: &mut Outbox, socket: &mut Taker) -> Poll<io::Result<()>> {
    outbox.poll_flush(socket, &mut Context::from_waker(Waker::noop()))
}

/// How much went out at once.
#[track_caller]
fn wrote(outbox: &mut Outbox, socket: &mut Taker) -> usize {
    match write(outbox, socket) {
        Poll::Ready(written) => written.unwrap(),
        Poll::Pending => panic!("it waits"),
    }
}

/// Bytes that are not the same as those before them.
fn piece(length: usize, first: u8) -> Vec<u8> {
    let bytes = 0..length;
    bytes
        .map(|at| first.wrapping_add((at % 251) as u8))
        .collect()
}

#[test]
fn small_pieces_are_copied_behind_what_was_written_and_large_ones_stay_where_they_are() {
    let small = Bytes::from(piece(COPIED_BYTES, 1));
    let large = Bytes::from(piece(COPIED_BYTES + 1, 2));
    let (mut outbox, mut socket) = (Outbox::default(), Taker::default());
    outbox.lead().extend_from_slice(b"head");
    outbox.put(small.clone());
    outbox.put(large.clone());
    outbox.lead().extend_from_slice(b"tail");
    assert_eq!(outbox.pieces.len(), 1);
    let all = [b"head", &small[..], &large[..], b"tail"].concat();
    assert_eq!(wrote(&mut outbox, &mut socket), all.len());
    assert!(socket.got == all);
    let lengths: Vec<_> = socket.parts.iter().map(|part| part.1).collect();
    assert_eq!(lengths, [4 + small.len(), large.len(), 4]);
    assert_eq!(socket.parts[1].0, large.as_ptr());
}

#[test]
fn a_piece_of_nothing_is_nothing() {
    let (mut outbox, mut socket) = (Outbox::default(), Taker::default());
    outbox.put(Bytes::new());
    assert!(outbox.is_empty() && !outbox.is_full());
    assert_eq!(wrote(&mut outbox, &mut socket), 0);
    assert!(outbox.is_empty() && socket.parts.is_empty());
}

#[test]
fn it_is_full_by_what_waits_wherever_that_lies() {
    for of_pieces in [0, 2, 3] {
        let (mut outbox, length) = (Outbox::default(), 20_000);
        for _ in 0..of_pieces {
            outbox.put(piece(length, 0).into());
        }
        let rest = FULL_BYTES - of_pieces * length;
        outbox.lead().extend(piece(rest - 1, 0));
        assert!(!outbox.is_full());
        outbox.put(Bytes::from_static(b"x"));
        assert!(outbox.is_full());
        let mut socket = Taker::taking([Some(1)]);
        assert_eq!(wrote(&mut outbox, &mut socket), 1);
        assert!(!outbox.is_full(), "what has gone out does not count");
        outbox.put(Bytes::from_static(b"x"));
        assert!(outbox.is_full());
    }
}

#[test]
fn nothing_is_kept_when_all_is_out() {
    let (mut outbox, mut socket) = (Outbox::default(), Taker::default());
    assert_eq!(outbox.lead.capacity(), 0);
    let large = Bytes::from(piece(10_000, 0));
    for part in [&b"head"[..], b""] {
        outbox.lead().extend_from_slice(part);
        outbox.put(large.clone());
        outbox.lead().extend_from_slice(part);
        while wrote(&mut outbox, &mut socket) > 0 {}
        let Outbox {
            lead,
            said,
            pieces,
            piece_bytes,
            ..
        } = &outbox;
        assert_eq!((lead.capacity(), *said, *piece_bytes), (0, 0, 0));
        assert!(pieces.is_empty() && large.is_unique());
    }
}

#[test]
fn a_large_piece_is_let_go_as_soon_as_it_is_out() {
    let (mut outbox, large) = (Outbox::default(), Bytes::from(piece(10_000, 0)));
    outbox.lead().extend_from_slice(b"head");
    outbox.put(large.clone());
    outbox.lead().extend_from_slice(b"tail");
    let mut socket = Taker::taking([Some(10_003), Some(1), Some(3)]);
    wrote(&mut outbox, &mut socket);
    assert!(!large.is_unique(), "a byte of it waits");
    wrote(&mut outbox, &mut socket);
    assert!(large.is_unique());
    wrote(&mut outbox, &mut socket);
    assert!(!outbox.lead.is_empty());
    wrote(&mut outbox, &mut socket);
    assert_eq!(outbox.lead.capacity(), 0);
}

#[test]
fn more_pieces_than_leave_at_once_leave_one_after_the_other() {
    for (before, between) in [("", ""), ("h", ""), ("", "h"), ("h", "h")] {
        let (mut outbox, mut socket) = (Outbox::default(), Taker::default());
        let mut all = before.as_bytes().to_vec();
        outbox.lead().extend_from_slice(before.as_bytes());
        for first in 0..50 {
            let bytes = piece(5000, first);
            all.extend(bytes.iter().chain(between.as_bytes()));
            outbox.put(bytes.into());
            outbox.lead().extend_from_slice(between.as_bytes());
        }
        let mut writes = 0;
        while wrote(&mut outbox, &mut socket) > 0 {
            assert!(socket.parts.len() >= SLICES / 2 || socket.got.len() == all.len());
            writes += 1;
        }
        assert!(socket.got == all);
        assert!(writes <= 8, "{writes} writes");
    }
}

#[test]
fn a_socket_that_takes_nothing_or_fails_is_an_error() {
    let (mut outbox, mut socket) = (Outbox::default(), Taker::taking([Some(0)]));
    outbox.lead().extend_from_slice(b"head");
    let Poll::Ready(Err(error)) = write(&mut outbox, &mut socket) else {
        panic!("no error");
    };
    assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    assert!(!outbox.is_empty());
    assert_eq!(wrote(&mut outbox, &mut socket), 4);
    assert_eq!(socket.got, b"head");
}

#[test]
fn what_was_written_is_flushed_once_and_until_then_it_is_not_out() {
    let (mut outbox, mut socket) = (Outbox::default(), Taker::default());
    assert!(flush(&mut outbox, &mut socket).is_ready());
    assert_eq!(socket.flushed, 0, "nothing was written");
    outbox.lead().extend_from_slice(b"head");
    assert!(!outbox.is_empty());
    assert!(flush(&mut outbox, &mut socket).is_ready());
    assert_eq!(socket.flushed, 0, "nothing was written yet");
    wrote(&mut outbox, &mut socket);
    assert!(!outbox.is_empty(), "it may be held back");
    socket.flushes = [Poll::Pending, Poll::Pending].into();
    for flushed in 1..=2 {
        assert!(flush(&mut outbox, &mut socket).is_pending());
        assert_eq!((socket.flushed, outbox.is_empty()), (flushed, false));
    }
    assert!(matches!(
        flush(&mut outbox, &mut socket),
        Poll::Ready(Ok(()))
    ));
    assert!(outbox.is_empty());
    assert!(flush(&mut outbox, &mut socket).is_ready());
    assert_eq!(socket.flushed, 3);
    outbox.lead().extend_from_slice(b"more");
    wrote(&mut outbox, &mut socket);
    socket.flushes = [Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))].into();
    assert!(matches!(
        flush(&mut outbox, &mut socket),
        Poll::Ready(Err(_))
    ));
}

#[derive(Clone, Debug)]
enum Step {
    Lead(usize),
    Put(usize),
    Write,
    Flush,
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        3 => 0_usize..40,
        1 => COPIED_BYTES - 1..=COPIED_BYTES + 2,
        2 => 1_usize..20_000,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        length().prop_map(Step::Lead),
        length().prop_map(Step::Put),
        Just(Step::Write),
        Just(Step::Flush),
    ]
}

proptest! {
    #[test]
    fn whatever_a_socket_takes_at_a_time_the_bytes_arrive_in_order(
        steps in prop::collection::vec(step(), 0..60),
        takes in prop::collection::vec(prop::option::weighted(0.8, 1_usize..12_000), 0..60),
    ) {
        let (mut outbox, mut socket) = (Outbox::default(), Taker::taking(takes));
        let mut all = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Lead(length) => {
                    let bytes = piece(length, number as u8);
                    all.extend_from_slice(&bytes);
                    outbox.lead().extend_from_slice(&bytes);
                }
                Step::Put(length) => {
                    let bytes = piece(length, number as u8);
                    all.extend_from_slice(&bytes);
                    outbox.put(bytes.into());
                }
                Step::Write => {
                    let before = socket.got.len();
                    let written = write(&mut outbox, &mut socket).map(Result::unwrap);
                    let taken = socket.got.len() - before;
                    prop_assert!(written.is_pending() || written == Poll::Ready(taken));
                    prop_assert!(taken > 0 || written.is_pending() || before == all.len());
                    prop_assert!(socket.parts.len() <= SLICES);
                }
                Step::Flush => prop_assert!(flush(&mut outbox, &mut socket).is_ready()),
            }
            let waits = all.len() - socket.got.len();
            prop_assert_eq!(outbox.waiting(), waits);
            prop_assert_eq!(outbox.is_full(), waits >= FULL_BYTES);
            prop_assert!(!outbox.is_empty() || waits == 0);
        }
        // A socket that is ready in the end.
        while write(&mut outbox, &mut socket).map(Result::unwrap) != Poll::Ready(0) {}
        prop_assert!(flush(&mut outbox, &mut socket).is_ready());
        prop_assert!(socket.got == all);
        prop_assert!(outbox.is_empty() && outbox.pieces.is_empty());
    }
}

#[test]
fn what_has_gone_out_is_not_kept_while_more_is_put_behind_it() {
    let (mut outbox, mut socket) = (Outbox::default(), Taker::default());
    let small = Bytes::from(piece(COPIED_BYTES, 0));
    for _ in 0..1_000 {
        while !outbox.is_full() {
            outbox.put(small.clone());
        }
        socket.takes.push_back(Some(30_000));
        wrote(&mut outbox, &mut socket);
    }
    assert!(outbox.lead.capacity() <= 4 * FULL_BYTES);
}

#[test]
fn little_room_for_pieces_is_kept_when_all_is_out() {
    let (mut outbox, mut socket) = (Outbox::default(), Taker::default());
    while !outbox.is_full() {
        outbox.put(piece(4097, 0).into());
    }
    while wrote(&mut outbox, &mut socket) > 0 {}
    assert!(outbox.pieces.capacity() <= PIECES_KEPT);
}
