//! A body is read as it came, its sender gets room for what was read, and both sides hear of the other's end.

use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::line::nobody::{self, Sleeper};

/// The stream whose body it is.
const SLOT: usize = 5;
const HALF: usize = WINDOW as usize / 2;

struct Flow {
    inflow: Option<Inflow>,
    outflow: Option<Outflow>,
    bell: Arc<Bell>,
    reader: (Arc<Sleeper>, Waker),
}

/// What a reader sees, without what errors say.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Waits,
    Data(Vec<u8>, bool),
    Trailers(HeaderMap, bool),
    TooSlow,
    Malformed,
    Gone,
    End,
}

impl Flow {
    fn new(expects: bool) -> Self {
        let bell = Bell::new(nobody::line(), 100);
        let (inflow, outflow) = pair(bell.clone(), SLOT, expects);
        Self {
            inflow: Some(inflow),
            outflow: Some(outflow),
            bell,
            reader: Sleeper::new(),
        }
    }

    fn inflow(&self) -> &Inflow {
        self.inflow.as_ref().unwrap()
    }

    fn push(&self, bytes: &[u8]) {
        self.inflow().push(bytes, 0);
    }

    fn needs(&self) -> (u32, bool) {
        let Needs { room, go_on } = self.inflow().needs();
        (room, go_on)
    }

    fn read(&self) -> Seen {
        self.read_as(&self.reader.1)
    }

    fn read_as(&self, waker: &Waker) -> Seen {
        let polled = self
            .outflow
            .as_ref()
            .unwrap()
            .poll(&Context::from_waker(waker));
        let Poll::Ready(read) = polled else {
            return Seen::Waits;
        };
        match read {
            None => Seen::End,
            Some((Ok(frame), last)) => match frame.into_data() {
                Ok(data) => Seen::Data(data.to_vec(), last),
                Err(frame) => Seen::Trailers(frame.into_trailers().unwrap(), last),
            },
            Some((Err(why), last)) => {
                assert!(last, "nothing follows an error");
                match why {
                    UploadError::TooSlow => Seen::TooSlow,
                    UploadError::Malformed(_) => Seen::Malformed,
                    UploadError::Gone(_) => Seen::Gone,
                }
            }
        }
    }

    fn woken(&self) -> usize {
        self.reader.0.woken()
    }

    /// Whether the connection was rung for, for this stream and no other.
    fn rung(&self) -> bool {
        let rung = self.bell.answer(0);
        assert!(rung.is_none_or(|slot| slot == SLOT));
        assert_eq!(self.bell.answer(0), None);
        rung.is_some()
    }
}

fn trailers() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", "1".parse().unwrap());
    trailers
}

fn data(bytes: &[u8], last: bool) -> Seen {
    Seen::Data(bytes.to_vec(), last)
}

#[test]
fn what_has_come_is_read_at_once_and_what_comes_then_is_waited_for() {
    let flow = Flow::new(false);
    flow.push(b"one");
    flow.push(b"two");
    assert_eq!(flow.read(), data(b"onetwo", false));
    assert_eq!(flow.read(), Seen::Waits);
    flow.push(b"three");
    assert_eq!(flow.read(), data(b"three", false));
    assert_eq!(flow.read(), Seen::Waits);
    assert!(!flow.rung(), "nothing is needed");
}

#[test]
fn the_last_piece_is_known_to_be_where_the_end_has_come() {
    let flow = Flow::new(false);
    flow.push(b"all");
    flow.inflow().end(None);
    assert_eq!(flow.read(), data(b"all", true));
    assert_eq!((flow.read(), flow.read()), (Seen::End, Seen::End));
    let flow = Flow::new(false);
    flow.push(b"all");
    assert_eq!(flow.read(), data(b"all", false));
    flow.inflow().end(None);
    assert_eq!((flow.read(), flow.read()), (Seen::End, Seen::End));
}

// req: GW-01
#[test]
fn trailers_come_behind_the_last_piece_and_end_the_body() {
    let flow = Flow::new(false);
    flow.push(b"all");
    flow.inflow().end(Some(trailers()));
    assert_eq!(flow.read(), data(b"all", false));
    assert_eq!(flow.read(), Seen::Trailers(trailers(), true));
    assert_eq!((flow.read(), flow.read()), (Seen::End, Seen::End));
    let flow = Flow::new(false);
    flow.inflow().end(Some(trailers()));
    assert_eq!(flow.read(), Seen::Trailers(trailers(), true));
    assert_eq!(flow.read(), Seen::End);
}

#[test]
fn a_body_that_breaks_says_why_once_and_gives_out_nothing_more() {
    for waits in [false, true] {
        let flow = Flow::new(false);
        flow.push(b"lost");
        if waits {
            assert_eq!(flow.read(), data(b"lost", false));
            assert_eq!(flow.read(), Seen::Waits);
        }
        flow.inflow().fail(UploadError::Malformed("test".into()));
        flow.inflow().fail(UploadError::TooSlow);
        assert_eq!(flow.read(), Seen::Malformed, "the first reason counts");
        assert_eq!((flow.read(), flow.read()), (Seen::End, Seen::End));
    }
}

#[test]
fn a_body_whose_stream_is_dropped_before_its_end_is_gone() {
    let mut flow = Flow::new(false);
    flow.push(b"lost");
    flow.inflow = None;
    assert_eq!((flow.read(), flow.read()), (Seen::Gone, Seen::End));
    let mut flow = Flow::new(false);
    assert_eq!(flow.read(), Seen::Waits);
    flow.inflow = None;
    assert_eq!(flow.woken(), 1, "whoever waits for it is told");
    assert_eq!(flow.read(), Seen::Gone);
}

#[test]
fn a_body_that_has_ended_does_not_break_any_more() {
    for more in [None, Some(trailers())] {
        let mut flow = Flow::new(false);
        flow.push(b"all");
        flow.inflow().end(more.clone());
        flow.inflow().fail(UploadError::TooSlow);
        flow.inflow = None;
        assert_eq!(flow.read(), data(b"all", more.is_none()));
        if let Some(more) = more {
            assert_eq!(flow.read(), Seen::Trailers(more, true));
        }
        assert_eq!(flow.read(), Seen::End);
    }
}

#[test]
fn a_reader_that_waits_is_woken_once_by_whatever_comes() {
    let comes: [&dyn Fn(&Inflow); 4] = [
        &|inflow| inflow.push(b"x", 0),
        &|inflow| inflow.end(None),
        &|inflow| inflow.end(Some(trailers())),
        &|inflow| inflow.fail(UploadError::TooSlow),
    ];
    for come in comes {
        let flow = Flow::new(false);
        come(flow.inflow());
        assert_eq!(flow.woken(), 0, "nobody waits");
        let flow = Flow::new(false);
        assert_eq!(flow.read(), Seen::Waits);
        assert_eq!(flow.woken(), 0, "nothing has come");
        come(flow.inflow());
        assert_eq!(flow.woken(), 1);
        flow.push(b"more");
        assert_eq!(flow.woken(), 0, "it knows");
        assert_ne!(flow.read(), Seen::Waits);
    }
}

#[test]
fn whoever_waited_last_is_woken_and_nobody_else() {
    let flow = Flow::new(false);
    let (other, waker) = Sleeper::new();
    assert_eq!(flow.read(), Seen::Waits);
    assert_eq!(flow.read_as(&waker), Seen::Waits);
    flow.push(b"x");
    assert_eq!((flow.woken(), other.woken()), (0, 1));
}

#[test]
fn room_is_made_by_halves_of_the_window_for_what_was_taken() {
    let flow = Flow::new(false);
    flow.push(&vec![0; WINDOW as usize]);
    assert_eq!(flow.needs(), (0, false), "nobody has taken it");
    assert!(!flow.rung());
    flow.read();
    assert!(flow.rung());
    assert_eq!(flow.needs(), (WINDOW, false));
    assert_eq!(flow.needs(), (0, false), "only once");
    flow.push(&vec![0; HALF - 1]);
    flow.read();
    assert_eq!((flow.rung(), flow.needs()), (false, (0, false)));
    flow.push(&[0]);
    assert_eq!((flow.rung(), flow.needs()), (false, (0, false)));
    flow.read();
    assert_eq!((flow.rung(), flow.needs()), (true, (WINDOW / 2, false)));
}

#[test]
fn a_body_that_has_ended_needs_nothing_more() {
    let ends: [&dyn Fn(&Inflow); 2] = [&|inflow| inflow.end(None), &|inflow| {
        inflow.fail(UploadError::TooSlow)
    }];
    for end in ends {
        for expects in [false, true] {
            let flow = Flow::new(expects);
            flow.push(&vec![0; HALF]);
            flow.read();
            assert!(flow.rung());
            flow.push(&vec![0; HALF]);
            end(flow.inflow());
            flow.read();
            flow.read();
            assert_eq!((flow.rung(), flow.needs()), (false, (0, false)));
        }
    }
}

#[test]
fn a_sender_that_waits_for_it_is_told_once_to_go_on_when_its_body_is_wanted() {
    let flow = Flow::new(true);
    assert_eq!((flow.rung(), flow.needs()), (false, (0, false)));
    assert_eq!(flow.read(), Seen::Waits);
    assert!(flow.rung());
    assert_eq!(flow.needs(), (0, true));
    assert_eq!(flow.needs(), (0, false), "only once");
    assert_eq!(flow.read(), Seen::Waits);
    assert!(!flow.rung());
    flow.push(b"body");
    assert_eq!(flow.read(), data(b"body", false));
    assert_eq!(flow.read(), Seen::Waits);
    assert_eq!((flow.rung(), flow.needs()), (false, (0, false)));
}

#[test]
fn who_does_not_wait_to_be_told_is_told_nothing_as_long_as_there_is_something_to_read() {
    let flow = Flow::new(true);
    flow.push(b"body");
    assert_eq!(flow.read(), data(b"body", false));
    assert_eq!((flow.rung(), flow.needs()), (false, (0, false)));
    let flow = Flow::new(false);
    assert_eq!(flow.read(), Seen::Waits);
    assert_eq!((flow.rung(), flow.needs()), (false, (0, false)));
}

#[test]
fn what_nobody_will_read_is_not_kept_and_no_room_is_made_for_more() {
    let mut flow = Flow::new(true);
    flow.push(&vec![0; HALF]);
    flow.outflow = None;
    flow.push(&vec![0; HALF]);
    flow.inflow().push(b"x", 16_000);
    assert_eq!(flow.inflow().0.basin.lock().bytes.capacity(), 0);
    assert_eq!((flow.rung(), flow.needs()), (false, (0, false)));
    flow.inflow().end(Some(trailers()));
    flow.inflow = None;
    assert_eq!(flow.woken(), 0);
}

#[test]
fn a_reader_that_gave_up_waiting_harms_nobody() {
    let mut flow = Flow::new(false);
    assert_eq!(flow.read(), Seen::Waits);
    flow.outflow = None;
    flow.push(b"x");
    flow.inflow().end(None);
    assert_eq!(flow.needs(), (0, false));
}

#[test]
fn what_is_about_to_come_of_a_piece_finds_its_room() {
    let flow = Flow::new(false);
    flow.inflow().push(b"a", 999);
    let at = || {
        let basin = flow.inflow().0.basin.lock();
        (basin.bytes.as_ptr(), basin.bytes.capacity() >= 1000)
    };
    let first = at();
    flow.push(&[0; 999]);
    assert_eq!((first.1, at()), (true, first), "it is not moved");
}

struct Unpark(thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn a_reader_on_another_thread_hears_everything_and_sleeps_through_nothing() {
    const PIECES: usize = 20_000;
    let mut flow = Flow::new(false);
    let (inflow, outflow) = (flow.inflow.take().unwrap(), flow.outflow.take().unwrap());
    thread::scope(|threads| {
        threads.spawn(move || {
            for piece in 0..PIECES {
                inflow.push(&[piece as u8; 3], 0);
                (0..piece % 100).for_each(|_| std::hint::spin_loop());
            }
            inflow.end(None);
        });
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut read = Vec::new();
        loop {
            match outflow.poll(&Context::from_waker(&waker)) {
                Poll::Ready(None) => break,
                Poll::Ready(Some((frame, _))) => read.extend(frame.unwrap().into_data().unwrap()),
                Poll::Pending => {
                    let began = kernel::clock::now();
                    thread::park_timeout(Duration::from_secs(20));
                    assert!(kernel::clock::now() - began < Duration::from_secs(10));
                }
            }
        }
        let all = (0..PIECES).flat_map(|piece| [piece as u8; 3]);
        assert!(read.into_iter().eq(all));
    });
}

proptest! {
    #[test]
    fn bytes_come_out_as_they_went_in_and_room_follows_what_was_taken(
        steps in prop::collection::vec(prop::option::weighted(0.6, 0_usize..50_000), 0..60),
        ends in any::<bool>(),
    ) {
        let flow = Flow::new(false);
        let (mut put, mut read, mut room, mut first) = (Vec::new(), Vec::new(), 0, 0_u8);
        for step in steps {
            match step {
                Some(length) => {
                    first = first.wrapping_add(1);
                    let bytes: Vec<u8> = (0..length).map(|at| first.wrapping_add(at as u8)).collect();
                    flow.push(&bytes);
                    put.extend(bytes);
                }
                None => match flow.read() {
                    Seen::Data(bytes, false) => read.extend(bytes),
                    other => prop_assert_eq!((other, read.len()), (Seen::Waits, put.len())),
                },
            }
            let rung = flow.rung();
            prop_assert_eq!(rung, read.len() - room >= HALF);
            let (more, _) = flow.needs();
            prop_assert_eq!(more > 0, rung);
            room += more as usize;
            prop_assert!(room <= read.len() && read.len() - room < HALF);
        }
        if ends {
            flow.inflow().end(None);
        }
        if let Seen::Data(bytes, last) = flow.read() {
            prop_assert_eq!(last, ends);
            read.extend(bytes);
        }
        prop_assert!(read == put);
    }
}

#[test]
fn a_body_that_drips_costs_who_keeps_its_pieces_no_more_than_a_little_each() {
    let mut flow = Flow::new(false);
    let outflow = flow.outflow.take().unwrap();
    let cx = Context::from_waker(Waker::noop());
    let mut kept = Vec::new();
    for coming in (0..16_384).rev() {
        flow.inflow().push(b"x", coming);
        let Poll::Ready(Some((Ok(frame), _))) = outflow.poll(&cx) else {
            panic!("a piece");
        };
        kept.push(frame.into_data().unwrap());
    }
    let bytes = kept
        .into_iter()
        .map(|piece| piece.try_into_mut().unwrap().capacity());
    let bytes = bytes.sum::<usize>();
    assert!(bytes < 1 << 20);
}
