//! The replay of the corpus of frames, and the laws that hold for whatever can be made up.

mod frames;

use bytes::{Bytes, BytesMut};
use model_kit::corpus::replay;
use proptest::prelude::*;

use crate::{Flags, Frame, Header};
use frames::{Seen, read};

// req: AC-08
#[test]
fn the_corpus_of_frames_is_read() {
    replay("frame", 10, frames::exercise);
}

fn lawful() -> impl Strategy<Value = Frame> {
    let message = (
        any::<bool>(),
        any::<(bool, bool, bool, bool)>(),
        200_u16..600,
        1_u16..,
    )
        .prop_map(|(asks, (starts, ends, ack, comp), code, app_proto)| {
            let kind = if asks { Flags::REQ } else { Flags::RESP };
            let flags = kind
                .with_if(starts, Flags::START)
                .with_if(ends, Flags::END)
                .with_if(ack, Flags::ACK_REQ)
                .with_if(comp, Flags::COMP);
            let code = if starts || !ends { code } else { 0 };
            (flags, code, app_proto)
        });
    let event = (1_u16..5).prop_map(|code| (Flags::EVENT, code, 0));
    let kind = prop_oneof![4 => message, 1 => event];
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    (kind, any::<u128>(), any::<u64>(), bytes(20), bytes(60)).prop_map(
        |((flags, code, app_proto), tenant, corr_id, cap, payload)| Frame {
            header: Header {
                flags,
                code,
                app_proto,
                tenant,
                corr_id,
            },
            cap: cap.into(),
            payload: payload.into(),
        },
    )
}

fn wire(frames: &[Frame]) -> Vec<u8> {
    let mut out = BytesMut::new();
    for frame in frames {
        frame.encode(&mut out).unwrap();
    }
    out.to_vec()
}

proptest! {
    // req: TR-01
    #[test]
    fn what_was_written_is_what_is_read(frames in prop::collection::vec(lawful(), 0..6)) {
        let expected = Seen { frames: frames.clone(), ..Seen::default() };
        prop_assert_eq!(read([&wire(&frames)[..]]), expected);
    }

    // req: TR-02
    // attack: G-16
    #[test]
    fn frames_cut_at_every_byte_are_the_same_frames(
        frames in prop::collection::vec(lawful(), 1..4),
        spoil in any::<Option<(u16, u8)>>(),
    ) {
        let mut bytes = wire(&frames);
        if let Some((at, byte)) = spoil {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let whole = read([&bytes[..]]);
        for cut in 0..=bytes.len() {
            prop_assert_eq!(&read([&bytes[..cut], &bytes[cut..]]), &whole);
        }
        prop_assert_eq!(&read(bytes.chunks(1)), &whole);
    }

    // req: AC-08
    #[test]
    fn bytes_without_any_meaning_break_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        frames::exercise(&bytes);
    }

    #[test]
    fn frames_without_any_order_break_nothing(frames in prop::collection::vec(lawful(), 0..12)) {
        frames::exercise(&wire(&frames));
    }
}

#[test]
fn no_bytes_are_no_frames() {
    assert_eq!(read([&b""[..]]), Seen::default());
    assert_eq!(Bytes::new(), wire(&[]));
}
