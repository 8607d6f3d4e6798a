use super::super::streams::{Tail, Window};
use super::*;
use bytes::Bytes;

const MOST: u32 = 300;

/// A stream that stands still, of which so much has gone.
fn standing(sent: u64, window: u32) -> Stream<()> {
    Stream {
        id: 1,
        work: None,
        inflow: None,
        room: Window::new(0),
        left: None,
        heard: true,
        seen: true,
        bodiless: false,
        told: true,
        window: Window::new(window),
        promised: None,
        rest: Bytes::from_static(b"rest"),
        behind: Bytes::new(),
        tail: Tail::End,
        sent,
        stalled: 1,
        here_since: 0,
        sent_before: sent,
        excuse: None,
    }
}

/// A line that is slow, on which nothing has moved yet.
const STUCK: Progress = Progress {
    unread: false,
    slow: true,
    gone: (1000, 50),
    taken: (100, 900),
};

// attack: B-15
#[test]
fn a_slow_line_excuses_nobody_to_whom_nothing_is_under_way() {
    let mut stream = standing(0, 0);
    assert!(!STUCK.excuses(&mut stream, 1 << 16, 400, MOST));
    let mut stream = standing(10, 0);
    assert!(STUCK.excuses(&mut stream, 1 << 16, 400, MOST));
    assert!(STUCK.excuses(&mut stream, 1 << 16, 700, MOST));
    let there = Progress {
        taken: (1000, 5000),
        ..STUCK
    };
    assert!(
        !there.excuses(&mut stream, 1 << 16, 701, MOST),
        "it is there"
    );
}

// attack: B-15
#[test]
fn what_may_lie_unread_excuses_until_it_was_read() {
    let mut stream = standing(0, 0);
    let unread = Progress {
        unread: true,
        ..STUCK
    };
    for now in [400, 700] {
        assert!(unread.excuses(&mut stream, 1 << 16, now, MOST));
    }
    let read = Progress {
        gone: (1050, 50),
        ..unread
    };
    assert!(!read.excuses(&mut stream, 1 << 16, 800, MOST));
}

// attack: B-15
#[test]
fn no_excuse_is_for_ever() {
    let unread = Progress {
        unread: true,
        ..STUCK
    };
    for (mut stream, progress) in [
        (standing(10, 0), STUCK),
        (standing(0, 0), unread),
        (standing(1, 1), STUCK),
    ] {
        let excused = |now: &u32| progress.excuses(&mut stream, 1 << 16, *now, MOST);
        let lasted = (400..10_000).step_by(100).take_while(excused).count();
        assert_eq!(lasted as u32, MOST * EXCUSED / 100);
        stream.goes(7200, false, 7200);
        assert!(stream.stalls(9000), "who has taken enough begins anew");
        assert!(progress.excuses(&mut stream, 1 << 16, 10_000, MOST));
    }
}
