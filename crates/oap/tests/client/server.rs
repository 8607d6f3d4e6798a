//! A small server on the codec: what it does with a request is its opcode's business.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use oap::limits::CHUNK_BYTES_MAX;
use oap::{Decoder, Directive, Event, Flags, Frame, Hello, Refusal, Session};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

pub(crate) const SPACE: u16 = 40;
/// Answers with what it is sent, piece by piece.
pub(crate) const ECHO: u16 = 1;
/// Takes everything and never answers.
pub(crate) const SILENCE: u16 = 2;
/// Answers with as many bytes as the payload says, in chunks, as fast as there is credit.
pub(crate) const FLOOD: u16 = 3;
/// Is refused for lack of room, with a notice.
pub(crate) const BUSY: u16 = 4;
/// Gives up.
pub(crate) const GIVES_UP: u16 = 5;
/// Answers with what it is sent, the second of two first.
pub(crate) const SWAPPED: u16 = 6;
/// Answers with the payload, compressed.
pub(crate) const PACKED: u16 = 7;
/// Answers with little that stands for very much.
pub(crate) const BOMB: u16 = 8;
/// Answers, and takes no more requests; what comes after it is not looked at.
pub(crate) const LAST: u16 = 9;
/// Takes one window and grants no more.
pub(crate) const HOARDS: u16 = 11;
/// Answers with the number of bytes it was sent, compressed ones decompressed.
pub(crate) const COUNT: u16 = 12;
/// Ends the connection.
pub(crate) const HANGS_UP: u16 = 10;

/// What the tests want to know of it.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) connections: AtomicUsize,
    pub(crate) open: AtomicUsize,
    pub(crate) requests: AtomicUsize,
    pub(crate) resets: AtomicUsize,
    pub(crate) flooded_bytes: AtomicU64,
    pub(crate) in_flight_most: AtomicUsize,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
}

pub(crate) fn hello() -> Hello {
    Hello {
        max_inflight: 8,
        window: oap::limits::WINDOW_BYTES_MIN,
        ..Hello::full("test-server")
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let theirs = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let seen = Arc::clone(&theirs);
                tokio::spawn(serve(stream, seen));
            }
        });
        Self { address, seen }
    }
}

/// One connection, from HELLO to its end.
pub(crate) async fn serve(mut io: impl AsyncRead + AsyncWrite + Unpin, seen: Arc<Seen>) {
    seen.connections.fetch_add(1, Ordering::SeqCst);
    seen.open.fetch_add(1, Ordering::SeqCst);
    let mut peer = Peer {
        session: Session::server(hello()),
        seen: Arc::clone(&seen),
        sending: BTreeMap::new(),
        held: None,
        hoards: Vec::new(),
        counts: BTreeMap::new(),
    };
    let mut inbox = BytesMut::new();
    loop {
        while let Some(frame) = Decoder::default().decode(&mut inbox).unwrap() {
            let mut out = BytesMut::new();
            let goes_on = peer.receive(frame, &mut out);
            peer.pump(&mut out);
            if io.write_all(&out).await.is_err() || !goes_on {
                seen.open.fetch_sub(1, Ordering::SeqCst);
                return;
            }
        }
        inbox.reserve(CHUNK_BYTES_MAX);
        if !matches!(io.read_buf(&mut inbox).await, Ok(1..)) {
            seen.open.fetch_sub(1, Ordering::SeqCst);
            return;
        }
    }
}

struct Peer {
    session: Session,
    seen: Arc<Seen>,
    /// What is still to be sent, and whether that is all.
    sending: BTreeMap<u64, (BytesMut, bool)>,
    held: Option<(u64, Bytes)>,
    hoards: Vec<u64>,
    counts: BTreeMap<u64, (oap::Inflater, usize)>,
}

impl Peer {
    fn receive(&mut self, frame: Frame, out: &mut BytesMut) -> bool {
        match self
            .session
            .receive(frame)
            .expect("the client keeps the rules")
        {
            Event::Hello { answer, .. } | Event::Answer(answer) => put(out, &answer),
            Event::Request {
                header, payload, ..
            } => {
                self.seen.requests.fetch_add(1, Ordering::SeqCst);
                let most = self.session.in_flight();
                self.seen.in_flight_most.fetch_max(most, Ordering::SeqCst);
                return self.request(header.corr_id, header, payload, out);
            }
            Event::Data { header, payload } => self.data(&header, payload, out),
            Event::Reset { id, .. } => {
                self.seen.resets.fetch_add(1, Ordering::SeqCst);
                self.sending.remove(&id);
                assert_eq!(self.session.let_go(id), None);
            }
            Event::Refused { header, refusal } => put(out, &refusal.answer(&header, None)),
            Event::Credit(_) | Event::Dropped | Event::Pong(_) => (),
            other => panic!("a client does not send {other:?}"),
        }
        true
    }

    fn data(&mut self, header: &oap::Header, payload: Bytes, out: &mut BytesMut) {
        let id = header.corr_id;
        if !self.hoards.contains(&id)
            && let Some(credit) = self.session.consumed(id, payload.len())
        {
            put(out, &credit);
        }
        if let Some((rest, all)) = self.sending.get_mut(&id) {
            rest.extend_from_slice(&payload);
            *all = header.ends();
        }
        if let Some((inflater, count)) = self.counts.get_mut(&id) {
            *count += inflater.inflate(payload).unwrap().len();
            if header.ends() {
                inflater.finish().unwrap();
                let answer = BytesMut::from(count.to_string().as_bytes());
                self.sending.insert(id, (answer, true));
            }
        }
    }

    fn request(
        &mut self,
        id: u64,
        header: oap::Header,
        payload: Bytes,
        out: &mut BytesMut,
    ) -> bool {
        let mut whole = |status, payload: Bytes, comp| {
            let answer = self.session.respond(id, status, payload, true, comp);
            put(out, &answer.unwrap());
        };
        match header.code {
            ECHO => {
                let plain = match header.flags.has(Flags::COMP) {
                    true => inflated(payload),
                    false => payload,
                };
                self.sending
                    .insert(id, (BytesMut::from(&plain[..]), header.ends()));
                if !header.ends() {
                    let begun = self.session.respond(id, 200, Bytes::new(), false, false);
                    put(out, &begun.unwrap());
                }
            }
            FLOOD => {
                let bytes = std::str::from_utf8(&payload).unwrap().parse().unwrap();
                self.sending.insert(id, (BytesMut::zeroed(bytes), true));
                let begun = self.session.respond(id, 200, Bytes::new(), false, false);
                put(out, &begun.unwrap());
            }
            BUSY => {
                let notice = Directive::rate_limited(SPACE, BUSY, 70);
                let frame = Refusal::Busy.answer(&header, Some(notice));
                whole(429, frame.payload, false);
            }
            HOARDS => self.hoards.push(id),
            COUNT => {
                let inflater = oap::Inflater::new(oap::Codec::Zstd);
                self.counts.insert(id, (inflater, 0));
            }
            GIVES_UP => put(out, &self.session.reset(id, 502, "upstream").unwrap()),
            SWAPPED => match self.held.take() {
                None => self.held = Some((id, payload)),
                Some((first, earlier)) => {
                    whole(200, payload, false);
                    let answer = self.session.respond(first, 200, earlier, true, false);
                    put(out, &answer.unwrap());
                }
            },
            PACKED => whole(200, oap::Codec::Zstd.compress(&payload).unwrap(), true),
            BOMB => whole(
                200,
                oap::Codec::Zstd.compress(&vec![0; 1 << 20]).unwrap(),
                true,
            ),
            LAST => {
                let answer = self.session.respond(id, 200, Bytes::new(), true, false);
                put(out, &self.session.go_away(503, "draining"));
                put(out, &answer.unwrap());
            }
            HANGS_UP => return false,
            _ => (),
        }
        true
    }

    /// As much of everything as there is credit for.
    fn pump(&mut self, out: &mut BytesMut) {
        let Self {
            session, sending, ..
        } = self;
        sending.retain(|id, (rest, all)| {
            loop {
                let Some(most) = session.sendable(*id) else {
                    return false;
                };
                let bytes = rest.len().min(most);
                let ends = *all && bytes == rest.len();
                if bytes == 0 && !ends {
                    return true;
                }
                let payload = rest.split_to(bytes).freeze();
                let flooded = payload.len() as u64;
                let frame = match session.data(*id, payload.clone(), ends) {
                    Ok(frame) => frame,
                    Err(_) => session.respond(*id, 200, payload, ends, false).unwrap(),
                };
                self.seen.flooded_bytes.fetch_add(flooded, Ordering::SeqCst);
                put(out, &frame);
                if ends {
                    return false;
                }
            }
        });
    }
}

fn inflated(payload: Bytes) -> Bytes {
    oap::Inflater::new(oap::Codec::Zstd)
        .inflate(payload)
        .unwrap()
}

fn put(out: &mut BytesMut, frame: &Frame) {
    frame.encode(out).unwrap();
}
