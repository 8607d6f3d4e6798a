//! Frames: the nine bytes before each, what they carry, and the small ones that a server says by itself.

/// A piece of a body.
pub const DATA: u8 = 0;
/// A head, or the beginning of one; also trailers.
pub const HEADERS: u8 = 1;
/// Which stream matters more; nobody listens any more.
pub const PRIORITY: u8 = 2;
/// The end of one stream.
pub const RST_STREAM: u8 = 3;
/// What a peer is like.
pub const SETTINGS: u8 = 4;
/// What only a server says.
pub const PUSH_PROMISE: u8 = 5;
/// To be said back.
pub const PING: u8 = 6;
/// No more streams.
pub const GOAWAY: u8 = 7;
/// Room for more of a body.
pub const WINDOW_UPDATE: u8 = 8;
/// More of a head.
pub const CONTINUATION: u8 = 9;

/// Nothing follows on the stream.
pub const END_STREAM: u8 = 1;
/// That was said back.
pub const ACK: u8 = 1;
/// The head is complete.
pub const END_HEADERS: u8 = 4;
/// There is padding.
pub const PADDED: u8 = 8;
/// A head says which stream matters more.
pub const WEIGHTED: u8 = 0x20;

/// What a client says before its first frame.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// No window is larger.
pub const WINDOW_MAX: u32 = u32::MAX >> 1;
/// Of a stream whose peer has said nothing else.
pub const WINDOW: u32 = 65_535;
/// What a frame may carry, as long as nobody has said that it may be more.
pub const PAYLOAD_MAX: u32 = 16_384;
/// The highest number a stream can have.
pub const STREAM_MAX: u32 = u32::MAX >> 1;
/// What a priority carries: a stream and a weight.
pub const PRIORITY_BYTES: u32 = 5;

/// Why a stream or a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[expect(missing_docs, reason = "the names of RFC 9113, section 7")]
pub enum Code {
    NoError = 0,
    Protocol = 1,
    Internal = 2,
    FlowControl = 3,
    StreamClosed = 5,
    FrameSize = 6,
    Refused = 7,
    Cancel = 8,
    Compression = 9,
    Calm = 11,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes it carries.
    pub length: u32,
    /// What it is.
    pub kind: u8,
    /// What is said by single bits.
    pub flags: u8,
    /// What it is about; 0 is the connection.
    pub stream: u32,
}

impl Frame {
    /// Bytes of a head.
    pub const HEAD: usize = 9;

    /// The head at the beginning of these bytes, if all of it is there.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, kind, flags, d, e, f, g] = *bytes.first_chunk::<{ Self::HEAD }>()?;
        Some(Self {
            length: u32::from_be_bytes([0, a, b, c]),
            kind,
            flags,
            stream: u32::from_be_bytes([d, e, f, g]) & STREAM_MAX,
        })
    }

    /// Writes it.
    #[inline]
    pub fn write(self, out: &mut Vec<u8>) {
        let [_, a, b, c] = self.length.to_be_bytes();
        let [d, e, f, g] = self.stream.to_be_bytes();
        out.extend_from_slice(&[a, b, c, self.kind, self.flags, d, e, f, g]);
    }

    /// Whether its stream ends with it.
    #[inline]
    pub fn ends_stream(self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }

    /// What it carries without padding, and without what nobody listens to.
    pub fn strip(self, mut payload: &[u8]) -> Result<&[u8], Code> {
        let mut padding = 0;
        if self.flags & PADDED != 0 {
            let (said, rest) = payload.split_first().ok_or(Code::FrameSize)?;
            (padding, payload) = (usize::from(*said), rest);
        }
        if self.kind == HEADERS && self.flags & WEIGHTED != 0 {
            let weight = PRIORITY_BYTES as usize;
            payload = payload.get(weight..).ok_or(Code::FrameSize)?;
        }
        let length = payload.len().checked_sub(padding);
        Ok(&payload[..length.ok_or(Code::Protocol)?])
    }
}

/// The word at the beginning of what a frame carries, without its highest bit.
pub fn word(payload: &[u8]) -> u32 {
    let word = payload
        .first_chunk()
        .map_or(0, |word| u32::from_be_bytes(*word));
    word & (u32::MAX >> 1)
}

/// Something a client says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Bytes its table of fields holds.
    Table(u32),
    /// Bytes of an answer it takes at first.
    Window(u32),
    /// Bytes a frame for it may carry.
    Payload(u32),
}

/// Shows what settings say that matters to a server.
pub fn settings(payload: &[u8], mut seen: impl FnMut(Setting)) -> Result<(), Code> {
    let (entries, []) = payload.as_chunks::<6>() else {
        return Err(Code::FrameSize);
    };
    for [a, b, value @ ..] in entries {
        let value = u32::from_be_bytes(*value);
        match u16::from_be_bytes([*a, *b]) {
            1 => seen(Setting::Table(value)),
            2 if value > 1 => return Err(Code::Protocol),
            4 if value > WINDOW_MAX => return Err(Code::FlowControl),
            4 => seen(Setting::Window(value)),
            5 if !(PAYLOAD_MAX..1 << 24).contains(&value) => return Err(Code::Protocol),
            5 => seen(Setting::Payload(value)),
            _ => {}
        }
    }
    Ok(())
}

/// What a server is like.
pub fn write_settings(out: &mut Vec<u8>, streams: u32, window: u32, list: u32) {
    let said = [(3_u16, streams), (4, window), (6, list)];
    about(out, SETTINGS, 0, 0, 6 * said.len());
    for (name, value) in said {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// A client's settings hold from now on.
pub fn write_settings_ack(out: &mut Vec<u8>) {
    about(out, SETTINGS, ACK, 0, 0);
}

/// A ping, or the answer to one.
pub fn write_ping(out: &mut Vec<u8>, said: [u8; 8], ack: bool) {
    about(out, PING, if ack { ACK } else { 0 }, 0, said.len());
    out.extend_from_slice(&said);
}

/// No stream after this one is served.
pub fn write_goaway(out: &mut Vec<u8>, last: u32, code: Code) {
    about(out, GOAWAY, 0, 0, 8);
    out.extend_from_slice(&last.to_be_bytes());
    out.extend_from_slice(&(code as u32).to_be_bytes());
}

/// The end of a stream.
pub fn write_reset(out: &mut Vec<u8>, stream: u32, code: Code) {
    about(out, RST_STREAM, 0, stream, 4);
    out.extend_from_slice(&(code as u32).to_be_bytes());
}

/// Room for so many bytes more.
pub fn write_window_update(out: &mut Vec<u8>, stream: u32, bytes: u32) {
    about(out, WINDOW_UPDATE, 0, stream, 4);
    out.extend_from_slice(&bytes.to_be_bytes());
}

/// The head of a frame with so many bytes behind it.
fn about(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, length: usize) {
    let length = length as u32;
    let frame = Frame {
        length,
        kind,
        flags,
        stream,
    };
    frame.write(out);
}

#[cfg(test)]
mod tests;
