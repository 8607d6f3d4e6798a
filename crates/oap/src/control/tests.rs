use super::*;

fn event(code: u16, flags: Flags, payload: &'static [u8]) -> Frame {
    let header = Header {
        flags: Flags::EVENT | flags,
        code,
        ..Header::default()
    };
    Frame {
        header,
        cap: Bytes::new(),
        payload: Bytes::from_static(payload),
    }
}

#[test]
fn what_was_said_is_what_is_heard() {
    let said = [
        Control::Credit(1),
        Control::Credit(WINDOW_BYTES_MAX),
        Control::Reset(Reset {
            status: 499,
            reason: "canceled".into(),
        }),
        Control::GoAway(GoAway {
            last_id: u64::MAX,
            status: 503,
            reason: Bytes::new(),
        }),
        Control::Ping(*b"12345678"),
        Control::Pong(*b"12345678"),
    ];
    for control in said {
        assert_eq!(Control::decode(control.encode(3)), Ok(control));
    }
}

// req: TR-03
#[test]
fn a_control_frame_that_is_not_of_its_form_is_refused() {
    let none = Flags::default();
    let long: &[u8; 67] = &[b'a'; 67];
    let cases: [(u16, Flags, &'static [u8], Violation); 12] = [
        (5, none, b"", Violation::ControlUnknown),
        (0, none, b"", Violation::ControlUnknown),
        (CREDIT, none, b"\0\0\0", Violation::ControlBad),
        (CREDIT, none, b"\0\0\0\x01\0", Violation::ControlBad),
        (CREDIT, none, b"\0\0\0\0", Violation::CreditBad),
        (CREDIT, none, b"\x80\0\0\0", Violation::CreditBad),
        (CREDIT, Flags::ACK_REQ, b"\0\0\0\x01", Violation::ControlBad),
        (RESET, none, b"\0\0", Violation::ControlBad),
        (RESET, none, b"\x01\xf3a\n", Violation::ControlBad),
        (RESET, none, long, Violation::ControlBad),
        (GOAWAY, none, b"\0\0\0\0\0\0\0\x01", Violation::ControlBad),
        (PING, Flags::ACK_REQ, b"1234567", Violation::ControlBad),
    ];
    for (code, flags, payload, violation) in cases {
        let heard = Control::decode(event(code, flags, payload));
        assert_eq!(heard, Err(violation), "{code} {payload:?}");
    }
}

#[test]
fn a_reason_that_is_too_long_is_cut_rather_than_refused_by_the_peer() {
    let reset = Reset {
        status: 500,
        reason: Bytes::from(vec![b'x'; 100]),
    };
    let Ok(Control::Reset(heard)) = Control::decode(Control::Reset(reset).encode(1)) else {
        panic!("a reset is heard as one");
    };
    assert_eq!(heard.reason.len(), REASON_BYTES_MAX);
}
