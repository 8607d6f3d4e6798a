//! Peers that do what comes into their heads: drawn by seed, over real sockets. None may harm the house, and the books
//! have to balance when all have gone.

use std::io::Write as _;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use fastrand::Rng;
use futures_util::future::join_all;
use oap::{Control, Flags, Frame, Header, Hello, Meta, Session, app_proto};
use svc_transport::ECHO;
use svc_transport::config::{GateText, TransportText};
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

use super::house::*;
use super::peer::Peer;

/// Longer than any conversation, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);
const SEEDS: u64 = 128;
/// Conversations at once.
const CROWD: u64 = 32;
const FRAME_BYTES: u32 = 128 * 1024;

fn impatient() -> TransportText {
    let mut text = TransportText::default();
    text.limits.frame_bytes = FRAME_BYTES;
    text.timeouts.handshake_ms = 400;
    text.timeouts.read_ms = 400;
    text.timeouts.write_ms = 400;
    text.timeouts.idle_ms = 1_500;
    // Nobody lets those go that wait.
    let soon = |opcode| GateText {
        app_proto: PROBE,
        opcode,
        inflight: None,
        waiting: None,
        deadline_ms: Some(400),
    };
    text.gates = [WAIT, WAIT_ONCE].map(soon).to_vec();
    text
}

/// One who may say anything.
struct Stranger<'a> {
    peer: Peer,
    rng: &'a mut Rng,
    last_id: u64,
}

/// How a conversation ends, where the house does not end it before.
#[derive(Clone, Copy)]
enum Goes {
    HalfCloses,
    Resets,
    Leaves,
}

impl Stranger<'_> {
    async fn talk(mut self) {
        if self.rng.u8(..10) > 0 {
            let hello = Session::client(Hello::full("stranger")).hello(&Meta::default());
            self.say(&wire(&hello.unwrap())).await;
            self.last_id = 1;
        }
        for _ in 0..self.rng.usize(1..12) {
            let said = self.something();
            self.say(&said).await;
            if self.rng.u8(..4) == 0 {
                self.hear_a_little().await;
            }
        }
        let ends = [Goes::HalfCloses, Goes::Resets, Goes::Leaves];
        match ends[self.rng.usize(..ends.len())] {
            Goes::Resets => self.peer.reset(),
            Goes::Leaves => {}
            Goes::HalfCloses => {
                // It may be closed already, from the other side.
                let _ = tokio::io::AsyncWriteExt::shutdown(&mut self.peer.stream).await;
                let mut rest = vec![0; 64 * 1024];
                while let Ok(1..) = self.peer.stream.read(&mut rest).await {}
            }
        }
    }

    /// In one piece, in several, or byte by byte. A house that does not listen any more is no fault.
    async fn say(&mut self, bytes: &[u8]) {
        let step = match self.rng.u8(..8) {
            0 => 1,
            1 => self.rng.usize(1..100),
            _ => bytes.len().max(1),
        };
        // What is very long drips for its beginning only: there are frames to come.
        let (drips, rest) = bytes.split_at(bytes.len().min(step * 50));
        for piece in drips.chunks(step).chain([rest]) {
            let said = timeout(Duration::from_secs(2), self.peer.try_raw(piece)).await;
            if said != Ok(true) {
                return;
            }
            if step == 1 {
                tokio::task::yield_now().await;
            }
        }
    }

    async fn hear_a_little(&mut self) {
        let mut some = vec![0; 4_096];
        let read = self.peer.stream.read(&mut some);
        let _ = timeout(Duration::from_millis(20), read).await;
    }

    fn something(&mut self) -> Vec<u8> {
        match self.rng.u8(..16) {
            0..=4 => self.lawful(),
            5..=8 => self.any_frame(),
            9 => self.lie_about_length(),
            10 => wire(
                &Session::client(Hello::full("again"))
                    .hello(&Meta::default())
                    .unwrap(),
            ),
            11 => self.credit(),
            12 => self.bomb(),
            13 => self.stream(),
            14 => self.reset_of_any(),
            _ => std::iter::repeat_with(|| self.rng.u8(..))
                .take(90)
                .collect(),
        }
    }

    fn id(&mut self) -> u64 {
        match self.rng.u8(..8) {
            0 => 0,
            1 => self.last_id,
            2 => self.rng.u64(..),
            3 => self.rng.u64(..=self.last_id),
            _ => {
                self.last_id = self.last_id.saturating_add(1);
                self.last_id
            }
        }
    }

    fn frame(&mut self, flags: u16, app_proto: u16, code: u16, payload: Vec<u8>) -> Frame {
        let corr_id = self.id();
        Frame {
            header: Header {
                flags: Flags::from_bits(flags),
                code,
                app_proto,
                tenant: u128::from(self.rng.u8(..16) == 0),
                corr_id,
            },
            cap: match self.rng.u8(..8) {
                0 => Bytes::from(vec![self.rng.u8(..); self.rng.usize(..40)]),
                _ => Bytes::new(),
            },
            payload: payload.into(),
        }
    }

    fn lawful(&mut self) -> Vec<u8> {
        let (app_proto, code, payload) = match self.rng.u8(..5) {
            0 => (PROBE, WAIT, Vec::new()),
            1 => (PROBE, WAIT_ONCE, Vec::new()),
            2 => (PROBE, MANY, b"300000".to_vec()),
            3 => (PROBE, BREAK, Vec::new()),
            _ => (app_proto::ECHO, ECHO, vec![7; self.rng.usize(..5_000)]),
        };
        self.last_id += 1;
        let mut frame = self.frame(Flags::REQ.bits(), app_proto, code, payload);
        (frame.header.corr_id, frame.header.tenant) = (self.last_id, 0);
        frame.cap = Bytes::new();
        wire(&frame)
    }

    /// Any flags, any code of any space, any size around the bounds of a chunk and of a frame.
    fn any_frame(&mut self) -> Vec<u8> {
        const CODES: [u16; 10] = [0, 1, 2, 3, 4, 5, 200, 429, 600, u16::MAX];
        const SPACES: [u16; 6] = [0, 1, 2, PROBE, 41, u16::MAX];
        const SIZES: [usize; 9] = [0, 1, 2, 8, 300, 65_535, 65_536, 65_537, 131_000];
        let flags = u16::from(self.rng.u8(..)) | u16::from(self.rng.u8(..64) == 0) << 9;
        let (code, space) = (CODES[self.rng.usize(..10)], SPACES[self.rng.usize(..6)]);
        // PANIC is known to panic, which is counted below.
        let code = if (space, code) == (PROBE, PANIC) {
            1
        } else {
            code
        };
        let payload = vec![b'4'; SIZES[self.rng.usize(..9)]];
        wire(&self.frame(flags, space, code, payload))
    }

    fn lie_about_length(&mut self) -> Vec<u8> {
        const LENGTHS: [u32; 10] = [
            0,
            1,
            37,
            38,
            39,
            FRAME_BYTES - 1,
            FRAME_BYTES,
            FRAME_BYTES + 1,
            1 << 31,
            u32::MAX,
        ];
        let mut bytes = self.lawful();
        let length = LENGTHS[self.rng.usize(..LENGTHS.len())];
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    fn credit(&mut self) -> Vec<u8> {
        let bytes = [0, 1, 65_536, i32::MAX as u32, u32::MAX][self.rng.usize(..5)];
        let id = self.id();
        wire(&Control::Credit(bytes).encode(id))
    }

    fn reset_of_any(&mut self) -> Vec<u8> {
        let id = self.id();
        let reset = oap::Reset {
            status: self.rng.u16(..700),
            reason: "whim".into(),
        };
        wire(&Control::Reset(reset).encode(id))
    }

    /// Much in little, or what is no compressed data at all.
    fn bomb(&mut self) -> Vec<u8> {
        let payload = match self.rng.bool() {
            true => BOMB.clone(),
            false => vec![self.rng.u8(..); 200],
        };
        let flags = (Flags::REQ | Flags::COMP).bits();
        wire(&self.frame(flags, PROBE, COUNT, payload))
    }

    /// A request in pieces, some of which may be missing.
    fn stream(&mut self) -> Vec<u8> {
        self.last_id += 1;
        let (id, mut all) = (self.last_id, Vec::new());
        let pieces = [
            (Flags::START, COUNT),
            (Flags::default(), 0),
            (Flags::END, 0),
        ];
        for (flag, code) in pieces {
            if self.rng.u8(..5) == 0 {
                continue;
            }
            let size = self.rng.usize(1..40_000);
            let mut frame = self.frame((Flags::REQ | flag).bits(), PROBE, code, vec![1; size]);
            (frame.header.corr_id, frame.header.tenant) = (id, 0);
            frame.cap = Bytes::new();
            all.extend_from_slice(&wire(&frame));
        }
        all
    }
}

static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| gzip(&vec![0; 9 * 1024 * 1024]));

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn wire(frame: &Frame) -> Vec<u8> {
    let mut out = BytesMut::new();
    frame.encode(&mut out).unwrap();
    out.to_vec()
}

/// Nothing is left of who was here.
async fn books_balance(house: &House) {
    house.probe.gate.add_permits(100_000);
    until("no service is at work", || house.live() == 0).await;
    let inflight = || house.metric("transport_inflight") == 0;
    until("no request is counted", inflight).await;
    let inside = || {
        house
            .transport
            .gates()
            .iter()
            .map(|(_, gate)| gate.in_use)
            .sum::<u32>()
    };
    until("nobody is inside a gate", || inside() == 0).await;
    let open = || house.metric("connections_open");
    until("no connection is open", || open() == 0).await;
    assert_eq!(house.metric("tasks_panicked_total"), 0);
    assert_eq!(
        house.metric(r#"pool_units_total{pool="transport",fate="panicked"}"#),
        0
    );
    let mut peer = Peer::greeted(house).await;
    peer.ask(app_proto::ECHO, ECHO, b"fine").await;
    assert_eq!(&peer.answer().await.2[..], b"fine");
}

// req: TR-02, TR-03, TR-04, TR-06, TR-07
// attack: G-01, G-02, G-03, G-05, G-09, G-12, G-14, G-15
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_strangers_say_the_house_stands_and_its_books_balance() {
    let house = House::open(impatient()).await;
    for first in (0..SEEDS).step_by(CROWD as usize) {
        let crowd = (first..first + CROWD).map(|seed| {
            let house = &house;
            async move {
                let mut rng = Rng::with_seed(seed);
                let stranger = Stranger {
                    peer: Peer::connect(house.address).await,
                    rng: &mut rng,
                    last_id: 0,
                };
                let talked = timeout(PATIENCE, stranger.talk()).await;
                assert!(talked.is_ok(), "seed {seed} was never let go");
            }
        });
        join_all(crowd).await;
    }
    books_balance(&house).await;
}

// req: TR-03
// attack: G-04, G-09, G-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_set_of_flags_in_every_state_is_answered_or_named_and_then_it_is_over() {
    let house = House::open(impatient()).await;
    for state in 0..3 {
        for flags in 0..=255_u16 {
            let said = tried(&house, state, flags).await;
            let kinds = (flags & 7).count_ones();
            match flags {
                128.. => assert_eq!(said.as_deref(), Some("flags-reserved"), "{state} {flags}"),
                _ if kinds != 1 => assert_eq!(said.as_deref(), Some("kind"), "{state} {flags}"),
                // REQ, alone or with START and END, is a request once HELLO was said.
                1 | 9 | 25 | 33 | 57 if state > 0 => assert_eq!(said, None, "{state} {flags}"),
                _ => {}
            }
        }
    }
    books_balance(&house).await;
}

/// Says one frame before HELLO, after it, or while a request of one's own still comes; the reason the connection ended
/// for, if it did not end by itself.
async fn tried(house: &House, state: u8, flags: u16) -> Option<String> {
    let mut peer = match state {
        0 => Peer::connect(house.address).await,
        _ => Peer::greeted(house).await,
    };
    let header = |flags, code, corr_id| Header {
        flags: Flags::from_bits(flags),
        code,
        app_proto: app_proto::ECHO,
        tenant: 0,
        corr_id,
    };
    let frame = |header| Frame {
        header,
        cap: Bytes::new(),
        payload: "x".into(),
    };
    if state == 2 {
        peer.send(frame(header((Flags::REQ | Flags::START).bits(), ECHO, 2)))
            .await;
    }
    peer.raw(&wire(&frame(header(flags, ECHO, 3)))).await;
    // It may have been closed over what was said.
    let _ = tokio::io::AsyncWriteExt::shutdown(&mut peer.stream).await;
    peer.farewell()
        .await
        .map(|(_, problem)| problem.reason.into_owned())
}
