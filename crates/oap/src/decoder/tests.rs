use super::*;

/// A frame of just a header, with some of its bytes replaced.
fn head(changes: &[(usize, &[u8])]) -> BytesMut {
    let mut head = [0; HEADER_BYTES];
    let base: [(usize, &[u8]); 5] = [
        (0, &[0, 0, 0, 38]),
        (4, &[0, 1]),
        (6, &[0, 1]),
        (8, &[0, 5, 0, 40]),
        (30, &[0, 0, 0, 0, 0, 0, 0, 9]),
    ];
    for (at, bytes) in base.iter().chain(changes) {
        head[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    BytesMut::from(&head[..])
}

fn verdict(mut inbox: BytesMut) -> Result<bool, Violation> {
    let frame = Decoder::default().decode(&mut inbox)?;
    Ok(frame.is_some())
}

fn flags(flags: Flags) -> [u8; 2] {
    flags.bits().to_be_bytes()
}

#[test]
fn the_frame_all_others_are_made_from_is_good() {
    assert_eq!(verdict(head(&[])), Ok(true));
}

// req: TR-02
// attack: G-02, G-03, G-04
#[test]
fn a_length_that_cannot_be_is_refused_from_its_four_bytes_alone() {
    let cases: [(u32, Violation); 5] = [
        (0, Violation::LengthShort),
        (37, Violation::LengthShort),
        (FRAME_BYTES_MAX + 1, Violation::LengthOver),
        (u32::MAX, Violation::LengthOver),
        (u32::from_be_bytes(*b"GET "), Violation::LengthOver),
    ];
    for (length, violation) in cases {
        let mut inbox = BytesMut::with_capacity(4);
        inbox.extend_from_slice(&length.to_be_bytes());
        let at = inbox.as_ptr();
        assert_eq!(Decoder::default().decode(&mut inbox), Err(violation));
        assert_eq!((inbox.as_ptr(), inbox.capacity()), (at, 4), "nothing grew");
        assert!(Decoder::default().want(&inbox) <= WANT_BYTES_MAX);
    }
}

// req: TR-02
#[test]
fn a_frame_of_the_agreed_length_is_taken_and_one_byte_more_is_not() {
    let decoder = Decoder::new(FRAME_BYTES_MIN);
    for (length, verdict) in [
        (FRAME_BYTES_MIN, Ok(None)),
        (FRAME_BYTES_MIN + 1, Err(Violation::LengthOver)),
    ] {
        let mut inbox = head(&[(0, &length.to_be_bytes())]);
        assert_eq!(decoder.decode(&mut inbox), verdict);
    }
}

// attack: G-09, G-10
// req: TR-03
#[test]
fn versions_and_flags_that_have_no_meaning_are_refused() {
    assert_eq!(verdict(head(&[(4, &[0, 0])])), Err(Violation::Version));
    assert_eq!(verdict(head(&[(4, &[0, 2])])), Err(Violation::Version));
    for bit in 7..16 {
        let bits = (1_u16 | 1 << bit).to_be_bytes();
        let refused = verdict(head(&[(6, &bits)]));
        assert_eq!(refused, Err(Violation::FlagsReserved), "bit {bit}");
    }
    for kinds in [0, 3, 5, 6, 7] {
        let kinds = flags(Flags::from_bits(kinds));
        assert_eq!(verdict(head(&[(6, &kinds)])), Err(Violation::Kind));
    }
}

// req: TR-03
#[test]
fn flags_and_code_go_together_or_are_refused() {
    let control: &[u8] = &[0, 0];
    let cases = [
        (Flags::REQ | Flags::START, 5, 40, Ok(true)),
        (Flags::REQ | Flags::START | Flags::END, 5, 40, Ok(true)),
        (Flags::REQ | Flags::END, 0, 40, Ok(true)),
        (Flags::REQ, 0, 40, Ok(true)),
        (Flags::REQ | Flags::START, 0, 40, Err(Violation::Shape)),
        (Flags::REQ | Flags::END, 5, 40, Err(Violation::Shape)),
        (Flags::REQ | Flags::START, 0, 0, Err(Violation::Shape)),
        (Flags::EVENT | Flags::COMP, 1, 0, Err(Violation::Shape)),
        (Flags::EVENT, 1, 40, Err(Violation::EventForeign)),
        (Flags::RESP, 0, 40, Ok(true)),
        (Flags::RESP, 100, 40, Err(Violation::Status)),
        (Flags::RESP, 600, 40, Err(Violation::Status)),
        (Flags::RESP, 0, 0, Err(Violation::Status)),
    ];
    for (set, code, space, expected) in cases {
        let (code, space) = (u16::to_be_bytes(code), u16::to_be_bytes(space));
        let frame = head(&[(10, control), (6, &flags(set)), (8, &code), (10, &space)]);
        assert_eq!(verdict(frame), expected, "{set:?} {code:?} {space:?}");
    }
}

// req: TR-02
#[test]
fn a_capability_section_fits_into_its_frame_and_its_limit() {
    assert_eq!(verdict(head(&[(28, &[0, 1])])), Err(Violation::CapOver));
    let long: &[u8] = &[0, 1, 0, 0];
    let most = (CAP_BYTES_MAX as u16).to_be_bytes();
    assert_eq!(verdict(head(&[(0, long), (28, &most)])), Ok(false));
    let more = (CAP_BYTES_MAX as u16 + 1).to_be_bytes();
    let refused = verdict(head(&[(0, long), (28, &more)]));
    assert_eq!(refused, Err(Violation::CapOver));
}

// req: TR-02
#[test]
fn a_payload_is_where_it_was_read_to() {
    let mut inbox = BytesMut::with_capacity(256);
    inbox.extend_from_slice(&head(&[(0, &[0, 0, 0, 38 + 7]), (28, &[0, 3])]));
    inbox.extend_from_slice(b"capload!");
    let at = inbox.as_ptr();
    let frame = Decoder::default().decode(&mut inbox).unwrap().unwrap();
    assert_eq!(
        (&frame.cap[..], &frame.payload[..]),
        (&b"cap"[..], &b"load"[..])
    );
    assert_eq!(frame.payload.as_ptr(), at.wrapping_add(HEADER_BYTES + 3));
    assert_eq!(&inbox[..], b"!");
}

// attack: G-01
#[test]
fn a_frame_that_is_cut_off_is_none_and_costs_nothing() {
    let whole = head(&[]);
    for cut in 0..whole.len() {
        let mut inbox = BytesMut::from(&whole[..cut]);
        let capacity = inbox.capacity();
        assert_eq!(Decoder::default().decode(&mut inbox), Ok(None));
        assert_eq!((inbox.len(), inbox.capacity()), (cut, capacity));
    }
}

// attack: G-08
#[test]
fn what_a_peer_announces_is_made_room_for_only_as_it_comes() {
    let decoder = Decoder::default();
    let mut inbox = head(&[(0, &FRAME_BYTES_MAX.to_be_bytes())]);
    assert_eq!(decoder.want(&inbox), WANT_BYTES_MAX);
    inbox.resize(FRAME_BYTES_MAX as usize - 1000, 0);
    assert_eq!(decoder.want(&inbox), 1000);
    assert_eq!(decoder.want(&BytesMut::new()), HEADER_BYTES);
}

// req: TR-02
#[test]
fn what_is_wrong_is_said_as_soon_as_its_bytes_are_there() {
    let cases: [(usize, &[u8], usize, Violation); 7] = [
        (0, &[0, 0, 0, 0], 4, Violation::LengthShort),
        (4, &[0, 2], 6, Violation::Version),
        (6, &[1, 1], 8, Violation::FlagsReserved),
        (6, &[0, 0], 8, Violation::Kind),
        (6, &[0, 17], 12, Violation::Shape),
        (6, &[0, 4], 12, Violation::EventForeign),
        (28, &[0xff, 0xff], 30, Violation::CapOver),
    ];
    for (at, bytes, known, violation) in cases {
        let spoilt = head(&[(at, bytes)]);
        let before = BytesMut::from(&spoilt[..known - 1]);
        assert_eq!(verdict(before), Ok(false), "{violation}");
        let after = BytesMut::from(&spoilt[..known]);
        assert_eq!(verdict(after), Err(violation));
    }
}

#[test]
fn a_frame_without_a_capability_section_holds_its_payload_only() {
    let mut inbox = head(&[(0, &[0, 0, 0, 38 + 4])]);
    inbox.extend_from_slice(b"load");
    let frame = Decoder::default().decode(&mut inbox).unwrap().unwrap();
    drop(inbox);
    assert!(frame.payload.is_unique());
}
