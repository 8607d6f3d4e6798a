//! The law of frames: any bytes, cut anywhere, are the same frames and the same verdict, and a server that gets them
//! keeps within its limits.

use bytes::{Bytes, BytesMut};
use oap::bridge::RequestHead;
use oap::{Decoder, Event, Frame, Hello, Meta, Session, Violation};

/// What was in the bytes, up to the first fault.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// The frames that were whole.
    pub(super) frames: Vec<Frame>,
    /// The fault, if there was one.
    pub(super) fault: Option<Violation>,
    /// Bytes that make no frame yet.
    pub(super) rest: usize,
}

/// What comes of bytes that arrive in these pieces.
pub(super) fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let (decoder, mut inbox, mut seen) = (Decoder::default(), BytesMut::new(), Seen::default());
    for piece in pieces {
        inbox.extend_from_slice(piece);
        while seen.fault.is_none() {
            match decoder.decode(&mut inbox) {
                Ok(Some(frame)) => seen.frames.push(frame),
                Ok(None) => break,
                Err(violation) => seen.fault = Some(violation),
            }
        }
    }
    seen.rest = inbox.len();
    seen
}

/// Puts bytes to the law.
pub(super) fn exercise(bytes: &[u8]) {
    let seen = read([bytes]);
    assert_eq!(read(bytes.chunks(1)), seen, "byte by byte");
    assert_eq!(read(bytes.chunks(39)), seen, "piece by piece");
    let mut again = BytesMut::new();
    for frame in &seen.frames {
        frame
            .encode(&mut again)
            .expect("what was read can be written");
    }
    assert_eq!(
        again[..],
        bytes[..bytes.len() - seen.rest],
        "what was read is what was there"
    );
    let frames = seen.frames.iter().cloned();
    serve(frames.clone());
    let hello = Session::client(Hello::default()).hello(&Meta::default());
    serve(hello.into_iter().chain(frames));
}

/// A server that gets these frames, and answers every other request.
fn serve(frames: impl Iterator<Item = Frame>) {
    let ours = Hello {
        max_inflight: 2,
        ..Hello::full("law")
    };
    let mut server = Session::server(ours);
    for frame in frames {
        let Ok(event) = server.receive(frame) else {
            return;
        };
        if let Event::Request {
            header,
            mut payload,
            ..
        } = event
        {
            taken(&mut payload);
            if header.corr_id % 2 == 0 {
                let whole = server.respond(header.corr_id, 200, Bytes::new(), true, false);
                whole.expect("a request that was just made can be answered");
            }
        }
        assert!(server.in_flight() <= 2);
    }
}

/// A head that is taken can be written again, and is then the same.
fn taken(payload: &mut Bytes) {
    let Ok(head) = RequestHead::take(payload) else {
        return;
    };
    let mut out = BytesMut::new();
    head.put(&mut out).expect("what was read can be written");
    assert_eq!(RequestHead::take(&mut out.freeze()), Ok(head));
}
