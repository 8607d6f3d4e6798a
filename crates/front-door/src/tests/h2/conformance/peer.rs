//! A client that says what it is told to, and sees to it that the door keeps to RFC 9113 in all it says.

use std::collections::{BTreeMap, VecDeque};

use super::reader::{Fields, Reader};
use super::*;

const MOST: i64 = (1 << 31) - 1;

/// What came on one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) status: u16,
    pub(super) fields: Fields,
    pub(super) body: Vec<u8>,
    pub(super) trailers: Option<Fields>,
    pub(super) ended: bool,
    pub(super) reset: Option<u32>,
    pub(super) frames: usize,
    /// How large the pieces of the body were.
    pub(super) pieces: Vec<usize>,
    /// What the door may send beyond the window a stream begins with.
    room: i64,
    /// What we may send beyond that.
    their_room: i64,
}

impl Seen {
    pub(super) fn is_over(&self) -> bool {
        self.ended || self.reset.is_some()
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|field| field.0 == name);
        found.map(|field| field.1.as_str())
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Frame,
    Closed,
    Nothing,
}

pub(super) struct Peer {
    pub(super) raw: Raw,
    /// What is tried, for whoever reads that it failed.
    pub(super) case: String,
    pub(super) streams: BTreeMap<u32, Seen>,
    /// The last stream the door will answer, and why it says goodbye.
    pub(super) goodbye: Option<(u32, u32)>,
    pub(super) closed: bool,
    pub(super) pongs: Vec<Vec<u8>>,
    /// How many of our settings are acknowledged.
    pub(super) acks: usize,
    /// What the door set.
    pub(super) theirs: BTreeMap<u16, u32>,
    reader: Reader,
    block: Option<(u32, u8, Vec<u8>)>,
    said: VecDeque<Vec<(u16, u32)>>,
    ours: BTreeMap<u16, u32>,
    room: i64,
    their_room: i64,
}

impl Peer {
    pub(super) async fn open(ground: &Ground, values: &[(u16, u32)]) -> Self {
        let mut peer = Self::mute(ground).await;
        peer.send(PREFACE).await;
        peer.set(values).await;
        peer.until("settings first", |peer| !peer.theirs.is_empty())
            .await;
        peer.send(&frame(SETTINGS, ACK, 0, &[])).await;
        peer
    }

    /// One that has said nothing yet.
    pub(super) async fn mute(ground: &Ground) -> Self {
        let stream = TcpStream::connect(ground.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            raw: Raw::over(stream),
            case: String::new(),
            streams: BTreeMap::new(),
            goodbye: None,
            closed: false,
            pongs: Vec::new(),
            acks: 0,
            theirs: BTreeMap::new(),
            reader: Reader::default(),
            block: None,
            said: VecDeque::new(),
            ours: BTreeMap::from([
                (TABLE_SIZE, 4096),
                (INITIAL_WINDOW, 65_535),
                (FRAME_MAX, 1 << 14),
            ]),
            room: 65_535,
            their_room: 65_535,
        }
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) {
        self.raw.send(bytes).await;
    }

    /// Settings that are said by other means.
    pub(super) fn expect(&mut self, values: &[(u16, u32)]) {
        self.said.push_back(values.to_vec());
    }

    /// Frames that may set something, or grant something.
    pub(super) async fn speak(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(head) = rest.first_chunk::<9>() {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let payload = &rest[9..rest.len().min(9 + length)];
            let word = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap());
            match (head[3], stream, payload.len()) {
                (SETTINGS, 0, _) if head[4] & ACK == 0 => {
                    let entry = |at: usize| ((word(at * 6) >> 16) as u16, word(at * 6 + 2));
                    let values: Vec<_> = (0..length / 6).map(entry).collect();
                    self.expect(&values);
                }
                (WINDOW_UPDATE, 0, 4) => self.room += i64::from(word(0)),
                (WINDOW_UPDATE, _, 4) => {
                    self.streams.entry(stream).or_default().room += i64::from(word(0));
                }
                _ => {}
            }
            rest = &rest[9 + payload.len()..];
        }
        self.send(bytes).await;
    }

    pub(super) async fn set(&mut self, values: &[(u16, u32)]) {
        self.expect(values);
        self.send(&settings(values)).await;
    }

    /// Lets the door send more: on a stream, or on all for 0.
    pub(super) async fn grant(&mut self, stream: u32, by: u32) {
        match stream {
            0 => self.room += i64::from(by),
            _ => self.streams.entry(stream).or_default().room += i64::from(by),
        }
        self.send(&update(stream, by)).await;
    }

    /// Counts bytes of bodies against what the door lets us send.
    pub(super) async fn upload(&mut self, stream: u32, flags: u8, payload: &[u8]) {
        self.their_room -= payload.len() as i64;
        self.streams.entry(stream).or_default().their_room -= payload.len() as i64;
        self.send(&frame(DATA, flags, stream, payload)).await;
    }

    /// What the door lets us send, of a stream and of all.
    pub(super) fn rooms(&self, stream: u32) -> (i64, i64) {
        let first = self.theirs.get(&INITIAL_WINDOW).copied().unwrap_or(65_535);
        let more = self.streams.get(&stream).map_or(0, |seen| seen.their_room);
        (i64::from(first) + more, self.their_room)
    }

    /// Waits until the door lets us send so much.
    pub(super) async fn until_room(&mut self, stream: u32, length: usize) {
        let length = length as i64;
        let fits = |peer: &Self| {
            let (own, all) = peer.rooms(stream);
            own >= length && all >= length
        };
        self.until("room to send", fits).await;
    }

    pub(super) fn seen(&self, stream: u32) -> Seen {
        self.streams.get(&stream).cloned().unwrap_or_default()
    }

    pub(super) fn received(&self, stream: u32) -> usize {
        self.streams.get(&stream).map_or(0, |seen| seen.body.len())
    }

    /// Hears until something holds.
    pub(super) async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        while !holds(self) {
            let heard = self.hear().await;
            assert!(
                heard == Heard::Frame,
                "{}: {what}: {heard:?}; {}",
                self.case,
                self.summary()
            );
        }
    }

    /// The whole answer of a stream.
    pub(super) async fn answer(&mut self, stream: u32) -> Seen {
        let over = |peer: &Self| peer.streams.get(&stream).is_some_and(Seen::is_over);
        self.until("an answer", over).await;
        self.seen(stream)
    }

    /// Asks on a stream of its own whether all is well.
    pub(super) async fn is_well(&mut self, stream: u32) {
        self.send(&super::whole(stream, GET)).await;
        let seen = self.answer(stream).await;
        assert_eq!(
            (seen.status, seen.text()),
            (200, "hello".into()),
            "{}",
            self.case
        );
    }

    /// Hears all that was said before the door heard of this.
    pub(super) async fn settle(&mut self) {
        let before = self.pongs.len();
        self.send(&frame(PING, 0, 0, b"settling")).await;
        self.until("a ping's answer", |peer| peer.pongs.len() > before)
            .await;
    }

    pub(super) fn summary(&self) -> String {
        let stream = |(id, seen): (&u32, &Seen)| {
            let (status, length, reset) = (seen.status, seen.body.len(), seen.reset);
            format!(
                "{id}: {status}, {length} bytes, end {}, reset {reset:?}",
                seen.ended
            )
        };
        let streams: Vec<_> = self.streams.iter().map(stream).collect();
        format!("goodbye {:?}, streams {streams:?}", self.goodbye)
    }

    /// Takes in one frame.
    pub(super) async fn hear(&mut self) -> Heard {
        let Ok(next) = self.raw.try_next().await else {
            return Heard::Nothing;
        };
        let Some((kind, flags, stream, payload)) = next else {
            self.closed = true;
            return Heard::Closed;
        };
        if let Err(why) = self.take(kind, flags, stream, &payload) {
            panic!(
                "{}: the door said {kind} on {stream} with {flags}: {why}",
                self.case
            );
        }
        if kind == PING && flags & ACK == 0 {
            self.send(&frame(PING, ACK, 0, &payload)).await;
        }
        Heard::Frame
    }

    fn take(
        &mut self,
        kind: u8,
        flags: u8,
        stream: u32,
        payload: &[u8],
    ) -> Result<(), &'static str> {
        let ensure = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
        let word = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap());
        ensure(payload.len() <= self.most(FRAME_MAX), "larger than allowed")?;
        let first = kind == SETTINGS && flags & ACK == 0;
        ensure(first || !self.theirs.is_empty(), "before its settings")?;
        let continues = self.block.as_ref().is_some_and(|block| block.0 == stream);
        ensure(
            (kind == CONTINUATION) == self.block.is_some(),
            "within a block of fields",
        )?;
        let of_all = matches!(kind, SETTINGS | PING | GOAWAY);
        let of_one = matches!(kind, DATA | HEADERS | RST_STREAM | CONTINUATION | PRIORITY);
        ensure(!of_all || stream == 0, "belongs to no stream")?;
        ensure(
            !of_one || stream % 2 == 1,
            "on a stream that is not the client's",
        )?;
        match kind {
            DATA => self.take_data(flags, stream, payload)?,
            HEADERS => {
                ensure(flags & (PADDED | WITH_PRIORITY) == 0, "not read here")?;
                self.block = Some((stream, flags, payload.to_vec()));
            }
            CONTINUATION => {
                ensure(continues, "another stream's")?;
                let block = self.block.as_mut().unwrap();
                block.1 |= flags & END_HEADERS;
                block.2.extend_from_slice(payload);
            }
            RST_STREAM => {
                ensure(payload.len() == 4, "a wrong length")?;
                let seen = self.streams.entry(stream).or_default();
                ensure(
                    seen.reset.is_none() || seen.reset == Some(word(0)),
                    "reset twice",
                )?;
                seen.reset = Some(word(0));
            }
            SETTINGS if flags & ACK != 0 => {
                ensure(
                    payload.is_empty(),
                    "an acknowledgement with something in it",
                )?;
                let said = self.said.pop_front();
                ensure(said.is_some(), "nothing is left to be acknowledged")?;
                self.ours.extend(said.unwrap());
                self.reader.limit = self.most(TABLE_SIZE);
                self.acks += 1;
            }
            SETTINGS => self.take_settings(payload)?,
            PUSH_PROMISE => return Err("nobody wants a push"),
            PING => {
                ensure(payload.len() == 8, "a wrong length")?;
                if flags & ACK != 0 {
                    self.pongs.push(payload.to_vec());
                }
            }
            GOAWAY => {
                ensure(payload.len() >= 8, "a wrong length")?;
                let before = self.goodbye.map_or(u32::MAX, |goodbye| goodbye.0);
                ensure(word(0) <= before, "more streams than it said before")?;
                self.goodbye = Some((word(0), word(4)));
            }
            WINDOW_UPDATE => {
                ensure(payload.len() == 4 && word(0) > 0, "no update")?;
                let room = match stream {
                    0 => &mut self.their_room,
                    _ => &mut self.streams.entry(stream).or_default().their_room,
                };
                *room += i64::from(word(0));
                ensure(*room <= MOST, "a window larger than any")?;
            }
            _ => {}
        }
        if self
            .block
            .as_ref()
            .is_some_and(|block| block.1 & END_HEADERS != 0)
        {
            let (stream, flags, block) = self.block.take().unwrap();
            let fields = self.reader.read(&block);
            self.take_fields(stream, flags, fields)?;
        }
        Ok(())
    }

    /// What is allowed by what was acknowledged, or is on its way.
    fn most(&self, id: u16) -> usize {
        let said = self.said.iter().flatten().filter(|value| value.0 == id);
        let most = said.map(|value| value.1).chain(self.ours.get(&id).copied());
        most.max().unwrap_or_default() as usize
    }

    fn take_data(&mut self, flags: u8, stream: u32, payload: &[u8]) -> Result<(), &'static str> {
        if flags & PADDED != 0 {
            return Err("not read here");
        }
        let (first, length) = (self.most(INITIAL_WINDOW) as i64, payload.len() as i64);
        let seen = self.streams.entry(stream).or_default();
        if seen.status < 200 || seen.is_over() {
            return Err("a body where none belongs");
        }
        self.room -= length;
        seen.room -= length;
        if length > 0 && (self.room < 0 || first + seen.room < 0) {
            return Err("more than the window holds");
        }
        seen.frames += 1;
        seen.pieces.push(payload.len());
        seen.body.extend_from_slice(payload);
        seen.ended = flags & END_STREAM != 0;
        Ok(())
    }

    fn take_settings(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        for entry in payload.chunks(6) {
            let [a, b, c, d, e, f] = *entry else {
                return Err("a wrong length");
            };
            let (id, value) = (u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, f]));
            let allowed = match id {
                2 => value == 0,
                INITIAL_WINDOW => i64::from(value) <= MOST,
                FRAME_MAX => (1 << 14..1 << 24).contains(&value),
                _ => true,
            };
            if !allowed {
                return Err("a value nobody may set");
            }
            self.theirs.insert(id, value);
        }
        // None is a choice too.
        self.theirs.entry(INITIAL_WINDOW).or_insert(65_535);
        Ok(())
    }

    fn take_fields(&mut self, stream: u32, flags: u8, fields: Fields) -> Result<(), &'static str> {
        const OF_CONNECTIONS: [&str; 5] = [
            "connection",
            "keep-alive",
            "proxy-connection",
            "transfer-encoding",
            "upgrade",
        ];
        let seen = self.streams.entry(stream).or_default();
        if seen.is_over() {
            return Err("fields behind the end");
        }
        let odd = |name: &str| {
            OF_CONNECTIONS.contains(&name) || name.contains(|c: char| c.is_ascii_uppercase())
        };
        if fields.iter().any(|(name, _)| odd(name)) {
            return Err("a field nobody may send");
        }
        let pseudo = fields
            .iter()
            .filter(|(name, _)| name.starts_with(':'))
            .count();
        seen.ended = flags & END_STREAM != 0;
        seen.frames += 1;
        if seen.status >= 200 {
            if pseudo > 0 || !seen.ended {
                return Err("no trailers");
            }
            seen.trailers = Some(fields);
            return Ok(());
        }
        match fields.split_first() {
            Some(((name, status), rest)) if name == ":status" && pseudo == 1 => {
                seen.status = status.parse().map_err(|_| "no status")?;
                seen.fields = rest.to_vec();
            }
            _ => return Err("no head of an answer"),
        }
        if seen.ended && seen.status < 200 {
            return Err("the end before the answer");
        }
        Ok(())
    }
}
