//! The laws of requests, for any bytes at all.

use bytes::BytesMut;
use http::HeaderMap;
use http1_wire::{BodyReader, Framing, Piece, RequestReader, Sending};

const HEAD_BYTES: usize = 4 * 1024;

/// All there is to be seen of one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) chunked: bool,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, Vec<u8>)>,
    pub(crate) keeps: bool,
}

/// All there is to be seen of a connection.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// The requests that came whole.
    pub(crate) requests: Vec<Seen>,
    /// Why no more could be read, if more came.
    pub(crate) fault: Option<String>,
}

/// Any bytes in any pieces: bounded, never more than came, and the same however they are cut.
pub(crate) fn exercise(data: &[u8]) {
    let Some((&cut, bytes)) = data.split_first() else {
        return;
    };
    let heard = hear([bytes]);
    let bodies: usize = heard.requests.iter().map(|seen| seen.body.len()).sum();
    assert!(bodies <= bytes.len(), "more was read than came");
    for seen in &heard.requests {
        assert!(seen.fields.len() <= http1_wire::FIELDS_MAX);
        for (_, value) in seen.fields.iter().chain(&seen.trailers) {
            assert!(!value.iter().any(|byte| b"\r\n\0".contains(byte)));
        }
        let length = |(name, _): &&(String, Vec<u8>)| name == "content-length";
        let lengths = seen.fields.iter().filter(length).count();
        assert!(lengths <= usize::from(!seen.chunked), "one way to frame it");
    }
    let pieces = usize::from(cut % 16) + 1;
    assert_eq!(
        hear(bytes.chunks(pieces)),
        heard,
        "cut every {pieces} bytes"
    );
}

/// One request behind the other, as long as the connection may be kept.
pub(crate) fn hear<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Heard {
    let (mut ear, mut inbox) = (Ear::default(), BytesMut::new());
    for piece in pieces {
        inbox.extend_from_slice(piece);
        if let Err(fault) = ear.listen(&mut inbox) {
            ear.heard.fault = Some(fault);
            break;
        }
    }
    ear.heard
}

#[derive(Default)]
struct Ear {
    heard: Heard,
    head: Option<RequestReader>,
    /// The request whose body is coming.
    open: Option<(Seen, BodyReader)>,
    closed: bool,
}

impl Ear {
    fn listen(&mut self, inbox: &mut BytesMut) -> Result<(), String> {
        while !self.closed {
            let Some((seen, body)) = &mut self.open else {
                match self.head(inbox)? {
                    Some(open) => self.open = Some(open),
                    None => return Ok(()),
                }
                continue;
            };
            match body.next(inbox).map_err(|fault| fault.to_string())? {
                Some(Piece::Data(data)) => seen.body.extend_from_slice(&data),
                Some(Piece::Trailers(trailers)) => seen.trailers = listed(&trailers),
                None if body.is_done() => {
                    self.closed = !seen.keeps;
                    self.heard
                        .requests
                        .extend(self.open.take().map(|(seen, _)| seen));
                }
                None => return Ok(()),
            }
        }
        Ok(())
    }

    fn head(&mut self, inbox: &mut BytesMut) -> Result<Option<(Seen, BodyReader)>, String> {
        let reader = self
            .head
            .get_or_insert_with(|| RequestReader::new(HEAD_BYTES));
        let read = reader.read(inbox, &mut HeaderMap::new());
        let Some(request) = read.map_err(|fault| fault.to_string())? else {
            return Ok(None);
        };
        self.head = None;
        let framing = match request.body {
            Sending::Length(length) => Framing::Length(length),
            Sending::Chunked => Framing::Chunked,
        };
        let seen = Seen {
            method: request.method.to_string(),
            target: request.uri.to_string(),
            fields: listed(&request.headers),
            chunked: framing == Framing::Chunked,
            keeps: request.terms.keeps,
            ..Seen::default()
        };
        Ok(Some((seen, BodyReader::new(framing))))
    }
}

fn listed(fields: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    let pair = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().to_owned(), value.as_bytes().to_vec())
    };
    fields.iter().map(pair).collect()
}
