use super::*;
use crate::Decoder;
use crate::limits::CHUNK_BYTES_MAX;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn encoded(frame: &Frame) -> BytesMut {
    let mut out = BytesMut::new();
    frame.encode(&mut out).unwrap();
    out
}

// req: TR-01
#[test]
fn a_hello_is_laid_out_as_it_was_once_written_down() {
    let frame = Frame {
        header: Header {
            flags: Flags::REQ,
            tenant: 0xaa,
            corr_id: 42,
            ..Header::default()
        },
        cap: Bytes::new(),
        payload: Bytes::from_static(br#"{"ua":"sdk/0.1"}"#),
    };
    let wire = bytes(
        "00000036 0001 0001 0000 0000 000000000000000000000000000000aa 0000 000000000000002a \
         7b227561223a2273646b2f302e31227d",
    );
    assert_eq!(encoded(&frame), wire);
    let mut inbox = BytesMut::from(&wire[..]);
    assert_eq!(Decoder::default().decode(&mut inbox), Ok(Some(frame)));
}

// req: TR-01
#[test]
fn an_answer_is_laid_out_as_it_was_once_written_down() {
    let frame = Frame {
        header: Header {
            flags: Flags::RESP,
            code: 200,
            app_proto: 200,
            tenant: 0xdd,
            corr_id: 123,
        },
        cap: Bytes::new(),
        payload: Bytes::from_static(b"hello world"),
    };
    let wire = bytes(
        "00000031 0001 0002 00c8 00c8 000000000000000000000000000000dd 0000 000000000000007b \
         68656c6c6f20776f726c64",
    );
    assert_eq!(encoded(&frame), wire);
    let mut inbox = BytesMut::from(&wire[..]);
    assert_eq!(Decoder::default().decode(&mut inbox), Ok(Some(frame)));
}

#[test]
fn a_head_and_its_payload_are_the_frame() {
    let frame = Frame {
        header: Header {
            flags: Flags::REQ,
            code: 7,
            app_proto: 9,
            tenant: u128::MAX - 1,
            corr_id: u64::MAX,
        },
        cap: Bytes::from_static(b"cap"),
        payload: Bytes::from(vec![5; CHUNK_BYTES_MAX]),
    };
    let whole = encoded(&frame);
    let at = frame.payload.as_ptr();
    let mut head = BytesMut::new();
    let payload = frame.encode_head(&mut head).unwrap();
    assert_eq!(payload.as_ptr(), at, "it is not copied");
    assert_eq!([&head[..], &payload[..]].concat(), whole);
}

#[test]
fn what_no_peer_would_take_is_not_written() {
    let mut out = BytesMut::new();
    let mut frame = Frame {
        payload: Bytes::from(vec![0; FRAME_BYTES_MAX as usize - HEADER_BYTES]),
        ..Frame::default()
    };
    assert_eq!(frame.encode(&mut out), Ok(()));
    frame.payload = Bytes::from(vec![0; FRAME_BYTES_MAX as usize - HEADER_BYTES + 1]);
    out.clear();
    assert_eq!(frame.encode(&mut out), Err(Violation::LengthOver));
    frame.payload = Bytes::new();
    frame.cap = Bytes::from(vec![0; CAP_BYTES_MAX + 1]);
    assert_eq!(frame.encode_head(&mut out), Err(Violation::CapOver));
    assert!(out.is_empty());
}
