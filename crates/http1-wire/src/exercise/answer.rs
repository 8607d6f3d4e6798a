//! The laws of answers, for any bytes at all.

use bytes::BytesMut;
use http::{HeaderMap, Method};
use http1_wire::{Asked, BodyReader, Fault, HeadReader, Piece};

const HEAD_BYTES: usize = 4 * 1024;

/// All there is to be seen of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) status: Option<u16>,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, Vec<u8>)>,
    pub(crate) done: bool,
    pub(crate) keeps: bool,
    /// What comes after it.
    pub(crate) after: Vec<u8>,
    pub(crate) fault: Option<Fault>,
}

/// Any bytes in any pieces: bounded, never more than came, and the same however they are cut.
pub(crate) fn exercise(data: &[u8]) {
    let Some((&cut, bytes)) = data.split_first() else {
        return;
    };
    let seen = whole(bytes);
    let held = seen.body.len() + seen.after.len();
    assert!(held <= bytes.len(), "more was read than came");
    assert!(seen.fields.len() <= http1_wire::FIELDS_MAX);
    let pieces = usize::from(cut % 16) + 1;
    assert_eq!(read(bytes.chunks(pieces)), seen, "cut every {pieces} bytes");
    for (_, value) in seen.fields.iter().chain(&seen.trailers) {
        assert!(!value.iter().any(|byte| b"\r\n\0".contains(byte)));
    }
}

pub(crate) fn whole(bytes: &[u8]) -> Seen {
    read([bytes])
}

/// An answer to a plain `GET`, from pieces; the peer closes after the last.
pub(crate) fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let mut seen = Seen::default();
    match try_read(pieces, &mut seen) {
        Ok(()) => {}
        // What was passed on before a fault depends on when it came; the fault does not.
        Err(fault) => {
            seen = Seen {
                fault: Some(fault),
                ..Seen::default()
            }
        }
    }
    seen
}

fn try_read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, seen: &mut Seen) -> Result<(), Fault> {
    let asked = Asked::by(&Method::GET, &HeaderMap::new());
    let mut inbox = BytesMut::new();
    let mut head = HeadReader::new(HEAD_BYTES);
    let mut body: Option<BodyReader> = None;
    for piece in pieces {
        inbox.extend_from_slice(piece);
        if body.is_none()
            && let Some(answer) = head.read(&mut inbox, asked)?
        {
            seen.status = Some(answer.status.as_u16());
            seen.fields = listed(&answer.headers);
            seen.keeps = answer.keeps;
            body = Some(BodyReader::new(answer.framing));
        }
        if let Some(body) = &mut body {
            take(body, &mut inbox, seen)?;
        }
    }
    if let Some(body) = &mut body {
        body.close()?;
        seen.done = body.is_done();
    }
    seen.after = inbox.to_vec();
    Ok(())
}

fn take(body: &mut BodyReader, inbox: &mut BytesMut, seen: &mut Seen) -> Result<(), Fault> {
    while let Some(piece) = body.next(inbox)? {
        match piece {
            Piece::Data(data) => {
                assert!(!data.is_empty(), "an empty piece says nothing");
                seen.body.extend_from_slice(&data);
            }
            Piece::Trailers(trailers) => seen.trailers = listed(&trailers),
        }
    }
    Ok(())
}

fn listed(fields: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    let pair = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().to_owned(), value.as_bytes().to_vec())
    };
    fields.iter().map(pair).collect()
}
