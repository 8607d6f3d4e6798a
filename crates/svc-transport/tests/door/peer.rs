//! A client that keeps the rules unless it is told to break them.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use oap::{Agreed, Decoder, Event, Flags, Frame, Header, Hello, Meta, Opening, Problem, Session};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::timeout;

use super::house::House;

/// Longer than any machine is busy.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    pub(crate) session: Session,
    decoder: Decoder,
    inbox: BytesMut,
}

/// The half of a peer that hears.
pub(crate) struct Hearing<'a> {
    stream: ReadHalf<'a>,
    decoder: Decoder,
    inbox: &'a mut BytesMut,
}

impl Hearing<'_> {
    /// The next frame, if there is one more.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.decoder.decode(self.inbox).unwrap() {
                return Some(frame);
            }
            let read = timeout(PATIENCE, self.stream.read_buf(self.inbox));
            match read.await.expect("something is said in time") {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

impl Peer {
    /// Connected, and nothing said.
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::with(address, Hello::full("test")).await
    }

    pub(crate) async fn with(address: SocketAddr, hello: Hello) -> Self {
        Self {
            stream: TcpStream::connect(address).await.unwrap(),
            session: Session::client(hello),
            decoder: Decoder::default(),
            inbox: BytesMut::new(),
        }
    }

    /// Connected and greeted.
    pub(crate) async fn greeted(house: &House) -> Self {
        let mut peer = Self::connect(house.address).await;
        peer.greet(&Meta::default()).await;
        peer
    }

    pub(crate) async fn greet(&mut self, meta: &Meta) -> Agreed {
        let hello = self.session.hello(meta).unwrap();
        self.send(hello).await;
        assert_eq!(self.event().await, Event::Greeted);
        self.session.agreed().unwrap().clone()
    }

    pub(crate) async fn send(&mut self, frame: Frame) {
        let mut out = BytesMut::new();
        frame.encode(&mut out).unwrap();
        self.stream.write_all(&out).await.unwrap();
    }

    /// Writes what is no frame, or not one that the rules allow.
    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// The same, of who may have been closed; whether it could be said.
    pub(crate) async fn try_raw(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// Says that nothing more is said.
    pub(crate) async fn half_close(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// Both halves, for who speaks and hears at once.
    pub(crate) fn split(&mut self) -> (Hearing<'_>, WriteHalf<'_>) {
        let (reading, writing) = self.stream.split();
        let hearing = Hearing {
            stream: reading,
            decoder: self.decoder,
            inbox: &mut self.inbox,
        };
        (hearing, writing)
    }

    /// The next frame, an answer to what the session knows nothing of.
    pub(crate) async fn untracked(&mut self) -> (u64, u16, Bytes) {
        let frame = self.frame().await.expect("the connection goes on");
        (frame.header.corr_id, frame.header.code, frame.payload)
    }

    /// A request that the session knows nothing of.
    pub(crate) fn plain_request(&self, corr_id: u64) -> Frame {
        Frame {
            header: Header {
                flags: Flags::REQ,
                code: 1,
                corr_id,
                ..Header::default()
            },
            ..Frame::default()
        }
    }

    /// Asks in one frame; its id.
    pub(crate) async fn ask(&mut self, app_proto: u16, opcode: u16, payload: &[u8]) -> u64 {
        let opening = Opening {
            app_proto,
            opcode,
            ..Opening::default()
        };
        self.open(&opening, payload, true).await
    }

    pub(crate) async fn open(&mut self, opening: &Opening, payload: &[u8], ends: bool) -> u64 {
        let payload = Bytes::copy_from_slice(payload);
        let frame = self.session.open(opening, payload, ends).unwrap();
        let id = frame.header.corr_id;
        self.send(frame).await;
        id
    }

    /// The next frame, if there is one more.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        self.split().0.frame().await
    }

    /// What the next frame means.
    pub(crate) async fn event(&mut self) -> Event {
        let frame = self.frame().await.expect("the connection goes on");
        self.session.receive(frame).unwrap()
    }

    /// The next answer in one frame: which, its status, what it says.
    pub(crate) async fn answer(&mut self) -> (u64, u16, Bytes) {
        match self.event().await {
            Event::Response { header, payload } if header.ends() => {
                (header.corr_id, header.code, payload)
            }
            other => panic!("no whole answer: {other:?}"),
        }
    }

    /// Reads an answer that may be a stream, granting credit, to its end.
    pub(crate) async fn all(&mut self, id: u64) -> (u16, usize) {
        let (mut status, mut bytes) = (0, 0);
        loop {
            let (header, payload) = match self.event().await {
                Event::Response { header, payload } => {
                    status = header.code;
                    (header, payload)
                }
                Event::Data { header, payload } => (header, payload),
                other => panic!("no answer: {other:?}"),
            };
            assert_eq!(header.corr_id, id);
            bytes += payload.len();
            if header.ends() {
                return (status, bytes);
            }
            if let Some(grant) = self.session.consumed(id, payload.len()) {
                self.send(grant).await;
            }
        }
    }

    /// Reads on until the server closes; the error frame, if the last one was such.
    pub(crate) async fn farewell(&mut self) -> Option<(u16, Problem)> {
        let mut last = None;
        while let Some(frame) = self.frame().await {
            last = Some(frame);
        }
        let last = last.filter(|frame| frame.header.corr_id == 0 && frame.header.code >= 400)?;
        let problem = Problem::from_payload(&last.payload).unwrap();
        Some((last.header.code, problem))
    }

    /// Ends with a reset instead of a close.
    pub(crate) fn reset(self) {
        let stream = socket2::SockRef::from(&self.stream);
        stream.set_linger(Some(Duration::ZERO)).unwrap();
    }
}
