//! The streams of a connection as its bytes tell of them.

use crate::budget::Part;
use crate::frames::{DATA, Frame, HEADERS, RST_STREAM, WINDOW_UPDATE};

/// No window is larger.
const WINDOW_MAX: u32 = u32::MAX >> 1;

/// The streams whose answers have not gone out: the codec keeps what a peer does not take, after everyone else has
/// forgotten it.
#[derive(Default)]
pub(super) struct Ledger {
    unfinished: Vec<Open>,
    last: u32,
}

struct Open {
    stream: u32,
    /// Whether the peer has said all it had to say there.
    heard: bool,
    /// Whether its window is as it was at the beginning: nothing was sent, nothing was added.
    untouched: bool,
}

impl Ledger {
    /// What a frame of the peer is to its stream, whose window begins with so many bytes.
    pub(super) fn came(&mut self, frame: Frame, initial_window: u32) -> Part {
        let heard = frame.ends_stream();
        if frame.kind == HEADERS && frame.stream > self.last {
            self.last = frame.stream;
            self.unfinished.push(Open {
                stream: frame.stream,
                heard,
                untouched: true,
            });
            return Part::Opens;
        }
        match (frame.kind, self.find(frame.stream)) {
            (RST_STREAM, Some(at)) => {
                self.unfinished.swap_remove(at);
            }
            (DATA | HEADERS, Some(at)) => {
                let open = &mut self.unfinished[at];
                let behind = open.heard;
                open.heard |= heard;
                if behind {
                    return Part::Forbidden;
                }
            }
            (WINDOW_UPDATE, Some(at)) => {
                let untouched = std::mem::take(&mut self.unfinished[at].untouched);
                if untouched && frame.word & WINDOW_MAX > WINDOW_MAX.saturating_sub(initial_window)
                {
                    return Part::Forbidden;
                }
            }
            _ => {}
        }
        Part::GoesOn
    }

    /// A frame of ours has gone out.
    pub(super) fn went(&mut self, frame: Frame) {
        let is_end = frame.kind == RST_STREAM || frame.ends_stream();
        if !is_end && frame.kind != DATA {
            return;
        }
        let Some(at) = self.find(frame.stream) else {
            return;
        };
        if is_end {
            self.unfinished.swap_remove(at);
        } else {
            self.unfinished[at].untouched = false;
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.unfinished.len() as u32
    }

    /// Most that comes is about who came last.
    fn find(&self, stream: u32) -> Option<usize> {
        let mut open = self.unfinished.iter();
        open.rposition(|open| open.stream == stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{END_HEADERS, END_STREAM};

    const DEFAULT: u32 = 65_535;
    const MOST: u32 = 0x7fff_0000;

    fn frame(kind: u8, flags: u8, stream: u32, word: u32) -> Frame {
        Frame {
            length: 4,
            kind,
            flags,
            stream,
            word,
        }
    }

    fn head(stream: u32, flags: u8) -> Frame {
        frame(HEADERS, flags | END_HEADERS, stream, 0)
    }

    fn update(stream: u32, word: u32) -> Frame {
        frame(WINDOW_UPDATE, 0, stream, word)
    }

    // attack: B-02
    #[test]
    fn nobody_may_go_on_behind_the_end_as_long_as_the_answer_is_not_out() {
        for behind in [
            frame(DATA, 0, 1, 0),
            frame(DATA, END_STREAM, 1, 0),
            head(1, END_STREAM),
        ] {
            let mut ledger = Ledger::default();
            assert_eq!(ledger.came(head(1, END_STREAM), DEFAULT), Part::Opens);
            for _ in 0..2 {
                assert_eq!(ledger.came(behind, DEFAULT), Part::Forbidden, "{behind:?}");
            }
            ledger.went(frame(DATA, END_STREAM, 1, 0));
            assert_eq!(
                (ledger.came(behind, DEFAULT), ledger.len()),
                (Part::GoesOn, 0)
            );
        }
        let mut ledger = Ledger::default();
        for frame in [head(1, 0), frame(DATA, 0, 1, 0), head(1, END_STREAM)] {
            assert_ne!(ledger.came(frame, DEFAULT), Part::Forbidden, "trailers");
        }
    }

    // attack: B-03
    #[test]
    fn an_update_overflows_a_window_that_nothing_was_taken_from() {
        let first = |word, initial| {
            let mut ledger = Ledger::default();
            ledger.came(head(1, 0), initial);
            ledger.came(update(1, word), initial)
        };
        assert_eq!(first(MOST, DEFAULT), Part::GoesOn);
        assert_eq!(first(MOST + 1, DEFAULT), Part::Forbidden);
        assert_eq!(
            first(u32::MAX, DEFAULT),
            Part::Forbidden,
            "the highest bit says nothing"
        );
        assert_eq!(first(WINDOW_MAX, 0), Part::GoesOn);
        assert_eq!(first(1, WINDOW_MAX), Part::Forbidden);
        let mut ledger = Ledger::default();
        ledger.came(head(1, 0), DEFAULT);
        ledger.went(frame(DATA, 0, 1, 0));
        assert_eq!(
            ledger.came(update(1, WINDOW_MAX), DEFAULT),
            Part::GoesOn,
            "some of it was used"
        );
        assert_eq!(
            ledger.came(update(0, WINDOW_MAX), DEFAULT),
            Part::GoesOn,
            "of all streams"
        );
    }

    #[test]
    fn a_stream_is_finished_by_its_answer_or_a_reset_of_either() {
        let mut ledger = Ledger::default();
        for stream in [1, 3, 5] {
            ledger.came(head(stream, 0), DEFAULT);
        }
        ledger.came(frame(RST_STREAM, 0, 1, 8), DEFAULT);
        ledger.went(frame(RST_STREAM, 0, 3, 8));
        assert_eq!(ledger.len(), 1);
        ledger.went(frame(DATA, 0, 5, 0));
        ledger.went(head(5, 0));
        assert_eq!(ledger.len(), 1);
        ledger.went(head(5, END_STREAM));
        assert_eq!(ledger.len(), 0);
    }
}
