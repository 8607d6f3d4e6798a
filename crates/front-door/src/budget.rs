//! What a peer may spend on HTTP/2 frames that ask for nothing: a budget that requests and bytes fill up again.
//!
//! Floods are told from use by what they bring along. A client that downloads sends window updates, one that streams
//! sends pings, one that closes a page resets streams; all of them in proportion to requests and answers. A flood is
//! out of proportion, and spends what it starts with in a moment.

use crate::frames::{
    CONTINUATION, DATA, END_STREAM, Frame, HEADERS, PING, PRIORITY, PRIORITY_BYTES, RST_STREAM,
    SETTINGS, WINDOW_UPDATE,
};

/// What a connection starts with, and never has more of.
const FULL: i64 = 1000;
/// What comes by itself with each tick of a tenth of a second.
const PER_TICK: i64 = 20;
/// What a request brings.
const PER_REQUEST: i64 = 4;
/// What a piece of an answer brings, however small: there are clients of gRPC that make room for each message anew, on
/// its stream and on the connection, and measure the way with a ping.
const PER_PIECE: i64 = 4;
/// Bytes written that bring one.
const BYTES: u64 = 256;

/// What a frame is to the stream it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Opens,
    GoesOn,
    /// Nobody may say that there.
    Forbidden,
}

/// What nobody may say, and what makes us throw out a request that was begun: so dear that only a few are begun.
const FORBIDDEN: i64 = 200;
/// What nobody has a reason to say.
const DEAR: i64 = 50;

#[derive(Debug)]
pub(crate) struct Budget {
    left: i64,
    tick: u32,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(tick: u32) -> Self {
        Self {
            left: FULL,
            tick,
            bytes: 0,
        }
    }

    /// Answers were written.
    pub(crate) fn wrote(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.bytes >= BYTES {
            self.earn(i64::try_from(self.bytes / BYTES).unwrap_or(FULL));
            self.bytes %= BYTES;
        }
    }

    /// A frame has gone out.
    pub(crate) fn went(&mut self, frame: Frame) {
        if frame.kind == DATA && frame.length > 0 {
            self.earn(PER_PIECE);
        }
        if frame.kind == RST_STREAM {
            self.left -= blame(frame.word);
        }
    }

    /// Pays for a frame that came; `false` if there is nothing left to pay with.
    pub(crate) fn pay(&mut self, frame: Frame, part: Part, tick: u32) -> bool {
        if tick != self.tick {
            self.earn(i64::from(tick.saturating_sub(self.tick)) * PER_TICK);
            self.tick = tick;
        }
        self.left -= cost(frame, part);
        if part == Part::Opens && frame.length > 0 {
            self.earn(PER_REQUEST);
        }
        self.left >= 0
    }

    fn earn(&mut self, amount: i64) {
        self.left = self.left.saturating_add(amount).min(FULL);
    }
}

/// What a reset of ours costs the peer that made us send it: requests that break the protocol cost most to throw out.
/// To cancel, to refuse, to fail is our own doing.
fn blame(code: u32) -> i64 {
    const PROTOCOL_ERROR: u32 = 1;
    const FLOW_CONTROL_ERROR: u32 = 3;
    const STREAM_CLOSED: u32 = 5;
    const FRAME_SIZE_ERROR: u32 = 6;
    match code {
        PROTOCOL_ERROR | FLOW_CONTROL_ERROR | FRAME_SIZE_ERROR => DEAR,
        // What was on its way when the stream was closed.
        STREAM_CLOSED => 10,
        _ => 0,
    }
}

fn cost(frame: Frame, part: Part) -> i64 {
    let named = frame.word & (u32::MAX >> 1);
    match frame.kind {
        _ if part == Part::Forbidden => FORBIDDEN,
        // A second head.
        HEADERS if part == Part::GoesOn && frame.flags & END_STREAM == 0 => FORBIDDEN,
        // Said nothing, and made us listen.
        DATA if frame.length == 0 && frame.flags & END_STREAM == 0 => 10,
        CONTINUATION | HEADERS if frame.length == 0 => DEAR,
        WINDOW_UPDATE if frame.stream > 0 && named == 0 => FORBIDDEN,
        PRIORITY if frame.length != PRIORITY_BYTES || named == frame.stream => FORBIDDEN,
        DATA | HEADERS => 0,
        CONTINUATION => 5,
        // A request was begun and thrown away.
        RST_STREAM => 10,
        SETTINGS => 5,
        PING | PRIORITY => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, length: u32) -> Frame {
        Frame {
            length,
            kind,
            flags: 0,
            stream: 1,
            word: 100,
        }
    }

    fn opening(frame: &Frame) -> Part {
        match frame.kind {
            HEADERS => Part::Opens,
            _ => Part::GoesOn,
        }
    }

    /// Every head opens a stream.
    fn lasts(frames: &[Frame]) -> Option<usize> {
        let mut budget = Budget::new(1);
        let mut pays = |frame: &Frame| budget.pay(*frame, opening(frame), 1);
        (0..5000).find(|_| !frames.iter().all(&mut pays))
    }

    // attack: B-01, B-09, B-10, B-11, B-12, B-13, B-14
    #[test]
    fn every_flood_spends_its_budget() {
        let (request, reset) = (frame(HEADERS, 20), frame(RST_STREAM, 4));
        let floods: [(&[Frame], usize); 8] = [
            (&[frame(SETTINGS, 0)], 200),
            (&[frame(PING, 8)], 500),
            (&[frame(PRIORITY, 5)], 500),
            (&[frame(WINDOW_UPDATE, 4)], 1000),
            (&[frame(DATA, 0)], 100),
            (&[frame(CONTINUATION, 0)], 20),
            (&[frame(0xfa, 0)], 1000),
            (&[request, reset], 165),
        ];
        for (flood, allowed) in floods {
            let lasted = lasts(flood).unwrap_or_else(|| panic!("{flood:?} goes on"));
            assert!(lasted.abs_diff(allowed) <= 1, "{flood:?}: {lasted}");
        }
    }

    // attack: B-02, B-03
    #[test]
    fn resets_that_a_peer_makes_us_send_are_dear_and_those_of_our_own_are_free() {
        let reset = |word| Frame {
            word,
            ..frame(RST_STREAM, 4)
        };
        let uploads = |code| {
            let mut budget = Budget::new(1);
            let lasts = (0..5000).take_while(|_| {
                let affordable = budget.pay(frame(HEADERS, 20), Part::Opens, 1);
                budget.went(reset(code));
                affordable
            });
            lasts.count()
        };
        for (code, lasts) in [
            (0, 5000),
            (2, 5000),
            (7, 5000),
            (8, 5000),
            (3, 22),
            (5, 167),
        ] {
            assert_eq!(uploads(code), lasts, "{code}");
        }
    }

    // attack: B-02
    #[test]
    fn a_second_head_is_dear_and_trailers_are_free() {
        let trailers = Frame {
            flags: END_STREAM,
            ..frame(HEADERS, 20)
        };
        let mut budget = Budget::new(1);
        assert!((0..5000).all(|_| budget.pay(trailers, Part::GoesOn, 1)));
        let uploads = (0..5000).take_while(|_| {
            budget.pay(frame(HEADERS, 20), Part::Opens, 1)
                && budget.pay(frame(HEADERS, 20), Part::GoesOn, 1)
        });
        assert_eq!(uploads.count(), 5);
    }

    // attack: B-02, B-03
    #[test]
    fn what_nobody_may_say_is_dear_as_soon_as_it_comes() {
        let update = |word| Frame {
            word,
            ..frame(WINDOW_UPDATE, 4)
        };
        let of_itself = Frame {
            word: 1,
            ..frame(PRIORITY, 5)
        };
        let lasts = |odd: Frame, part: Part| {
            let mut budget = Budget::new(1);
            let uploads = (0..5000).take_while(|_| {
                budget.pay(frame(HEADERS, 20), Part::Opens, 1) && budget.pay(odd, part, 1)
            });
            uploads.count()
        };
        for odd in [update(0), update(1 << 31), of_itself, frame(PRIORITY, 4)] {
            assert_eq!(lasts(odd, Part::GoesOn), 5, "{odd:?}");
        }
        for odd in [frame(DATA, 1), frame(HEADERS, 20), update(1)] {
            assert_eq!(lasts(odd, Part::Forbidden), 5, "{odd:?}");
        }
        assert_eq!(lasts(update(u32::MAX), Part::GoesOn), 5000);
        let all = Frame {
            stream: 0,
            ..update(0)
        };
        assert_eq!(
            lasts(all, Part::GoesOn),
            5000,
            "the codec ends the connection"
        );
    }

    #[test]
    fn use_in_proportion_goes_on_for_ever() {
        let (request, data) = (frame(HEADERS, 20), frame(DATA, 100));
        let update = frame(WINDOW_UPDATE, 4);
        assert_eq!(lasts(&[request, data, update, update]), None);
        assert_eq!(lasts(&[data]), None, "small messages, one after another");
        let mut budget = Budget::new(1);
        for _ in 0..5000 {
            budget.wrote(16 << 10);
            for _ in 0..4 {
                assert!(
                    budget.pay(update, Part::GoesOn, 1)
                        && budget.pay(frame(PING, 8), Part::GoesOn, 1)
                );
            }
        }
    }

    // req: GW-01
    #[test]
    fn small_messages_may_each_be_answered_with_more_room_and_a_ping() {
        let mut budget = Budget::new(1);
        let (message, update) = (frame(DATA, 10), frame(WINDOW_UPDATE, 4));
        for _ in 0..5000 {
            budget.went(message);
            budget.wrote(19);
            let heard = [update, update, frame(PING, 8)];
            assert!(
                heard
                    .iter()
                    .all(|frame| budget.pay(*frame, Part::GoesOn, 1))
            );
        }
        budget.went(frame(DATA, 0));
        let more = (0..5000).find(|_| !budget.pay(update, Part::GoesOn, 1));
        assert!(more.is_some_and(|more| more <= 1000), "{more:?}");
    }

    #[test]
    fn now_and_then_anything_may_come() {
        let mut budget = Budget::new(1);
        for tick in 1..2000 {
            assert!(budget.pay(frame(PING, 8), Part::GoesOn, tick));
            assert!(
                budget.pay(frame(RST_STREAM, 4), Part::GoesOn, tick),
                "at {tick}"
            );
        }
    }
}
