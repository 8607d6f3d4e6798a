//! Floods and use, told from each other.

use http2_wire::frame::WINDOW_UPDATE;

use super::*;

fn frame(kind: u8, length: u32) -> Frame {
    Frame {
        length,
        kind,
        flags: 0,
        stream: 1,
    }
}

/// How often all of it can be paid for.
fn lasts(mut pays: impl FnMut(&mut Budget) -> bool) -> Option<usize> {
    let mut budget = Budget::new(1);
    (0..5000).find(|_| !pays(&mut budget))
}

/// Of frames; every head is a request.
fn frames_last(frames: &[Frame]) -> Option<usize> {
    lasts(|budget| {
        frames.iter().all(|frame| {
            let affordable = budget.pay(*frame, 1);
            if frame.kind == HEADERS && frame.length > 0 {
                budget.asked();
            }
            affordable
        })
    })
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
        let lasted = frames_last(flood).unwrap_or_else(|| panic!("{flood:?} goes on"));
        assert!(lasted.abs_diff(allowed) <= 1, "{flood:?}: {lasted}");
    }
}

// attack: B-02, B-03, B-04, B-05
#[test]
fn what_makes_us_throw_out_a_request_is_dear_as_soon_as_it_comes() {
    for (offence, allowed) in [
        (Offence::Frame, 5),
        (Offence::Request, 21),
        (Offence::Reset, 27),
        (Offence::Late, 166),
    ] {
        let lasted = lasts(|budget| {
            budget.asked();
            budget.pay(frame(HEADERS, 20), 1) && budget.blame(offence)
        });
        let lasted = lasted.unwrap_or_else(|| panic!("{offence:?} goes on"));
        assert!(lasted.abs_diff(allowed) <= 1, "{offence:?}: {lasted}");
    }
}

#[test]
fn use_in_proportion_goes_on_for_ever() {
    let (request, data) = (frame(HEADERS, 20), frame(DATA, 100));
    let update = frame(WINDOW_UPDATE, 4);
    assert_eq!(frames_last(&[request, data, update, update]), None);
    assert_eq!(
        frames_last(&[data]),
        None,
        "small messages, one after another"
    );
    let downloads = lasts(|budget| {
        budget.wrote(16 << 10);
        (0..4).all(|_| budget.pay(update, 1) && budget.pay(frame(PING, 8), 1))
    });
    assert_eq!(downloads, None);
}

// req: GW-01
#[test]
fn small_messages_may_each_be_answered_with_more_room_and_a_ping() {
    let mut budget = Budget::new(1);
    let update = frame(WINDOW_UPDATE, 4);
    for _ in 0..5000 {
        budget.answered();
        budget.wrote(19);
        let heard = [update, update, frame(PING, 8)];
        assert!(heard.iter().all(|frame| budget.pay(*frame, 1)));
    }
    let more = (0..5000).find(|_| !budget.pay(update, 1));
    assert!(more.is_some_and(|more| more <= 1000), "{more:?}");
}

#[test]
fn now_and_then_anything_may_come() {
    let mut budget = Budget::new(1);
    for tick in 1..2000 {
        assert!(budget.pay(frame(PING, 8), tick));
        assert!(budget.pay(frame(RST_STREAM, 4), tick), "at {tick}");
    }
}
