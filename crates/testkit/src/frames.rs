//! An HTTP/2 peer that says exactly what it is told to, frame by frame.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

pub mod floods;

#[expect(
    missing_docs,
    reason = "the kinds of frames are what RFC 9113 calls them"
)]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Flag: this is the last frame of the stream.
pub const END_STREAM: u8 = 0x1;
/// Flag: this answers a SETTINGS or a PING.
pub const ACK: u8 = 0x1;
/// Flag: this is the last frame of the block of fields.
pub const END_HEADERS: u8 = 0x4;
/// Flag: the payload is padded.
pub const PADDED: u8 = 0x8;

/// What a client says first.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD: usize = 9;

/// A frame as it goes over the wire.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = payload.len().to_be_bytes();
    let mut bytes = length[length.len() - 3..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Fields as a block: every one written out, none remembered.
#[must_use]
pub fn block(fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    fields
        .iter()
        .flat_map(|field| literal(0x00, field))
        .collect()
}

/// A field that both ends remember from here on.
#[must_use]
pub fn remembered(name: &[u8], value: &[u8]) -> Vec<u8> {
    literal(0x40, &(name, value))
}

fn literal(how: u8, (name, value): &(&[u8], &[u8])) -> Vec<u8> {
    let mut bytes = vec![how];
    for text in [name, value] {
        integer(&mut bytes, text.len());
        bytes.extend_from_slice(text);
    }
    bytes
}

/// A number with a prefix of seven bits (RFC 7541, 5.1).
fn integer(bytes: &mut Vec<u8>, number: usize) {
    const PREFIX: usize = 0x7f;
    if number < PREFIX {
        return bytes.push(number as u8);
    }
    bytes.push(PREFIX as u8);
    let mut rest = number - PREFIX;
    while rest >= 0x80 {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// A frame that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is; see [`kind`].
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream; 0 for the connection.
    pub stream: u32,
    /// What it carries.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The code of a RST_STREAM or a GOAWAY.
    #[must_use]
    pub fn code(&self) -> Option<u32> {
        let at = match self.kind {
            kind::RST_STREAM => 0,
            kind::GOAWAY => 4,
            _ => return None,
        };
        let code = self.payload.get(at..at + 4)?;
        Some(u32::from_be_bytes(code.try_into().ok()?))
    }
}

/// One connection.
#[derive(Debug)]
pub struct Peer {
    /// What it says.
    pub writer: OwnedWriteHalf,
    /// What it hears.
    pub listener: Listener,
}

/// The hearing side of a connection.
#[derive(Debug)]
pub struct Listener {
    stream: OwnedReadHalf,
    read: Vec<u8>,
}

impl Peer {
    /// Connects, and exchanges settings; ours carry this payload.
    pub async fn open(addr: SocketAddr, settings: &[u8]) -> io::Result<Self> {
        let mut peer = Self::over(TcpStream::connect(addr).await?)?;
        let hello = [PREFACE, &frame(kind::SETTINGS, 0, 0, settings)].concat();
        peer.writer.write_all(&hello).await?;
        while let Some(frame) = peer.listener.next().await {
            if frame.kind == kind::SETTINGS && frame.flags & ACK == 0 {
                break;
            }
        }
        let ack = frame(kind::SETTINGS, ACK, 0, &[]);
        peer.writer.write_all(&ack).await?;
        Ok(peer)
    }

    /// The server's side of a connection that a client has opened. Our settings carry this payload; the client's are
    /// the next frame.
    pub async fn serve(stream: TcpStream, settings: &[u8]) -> io::Result<Self> {
        let mut peer = Self::over(stream)?;
        let mut preface = [0; PREFACE.len()];
        peer.listener.stream.read_exact(&mut preface).await?;
        if preface != PREFACE {
            return Err(io::Error::other("no preface of HTTP/2"));
        }
        let settings = frame(kind::SETTINGS, 0, 0, settings);
        peer.writer.write_all(&settings).await?;
        Ok(peer)
    }

    fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let (stream, writer) = stream.into_split();
        let read = Vec::new();
        let listener = Listener { stream, read };
        Ok(Self { writer, listener })
    }

    /// Sends exactly these bytes; that nobody takes them is seen when reading.
    pub async fn send(&mut self, bytes: &[u8]) {
        let _ = self.writer.write_all(bytes).await;
    }
}

impl Listener {
    /// The next frame; `None` when the connection is closed.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.parse() {
                return Some(frame);
            }
            match self.stream.read_buf(&mut self.read).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Every frame until the connection is closed, or this time is over; and whether it was closed.
    pub async fn all(&mut self, within: Duration) -> (Vec<Frame>, bool) {
        let mut frames = Vec::new();
        let reading = async {
            while let Some(frame) = self.next().await {
                frames.push(frame);
            }
        };
        let closed = tokio::time::timeout(within, reading).await.is_ok();
        (frames, closed)
    }

    fn parse(&mut self) -> Option<Frame> {
        let head = *self.read.first_chunk::<HEAD>()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let payload = self.read.get(HEAD..HEAD + length)?.to_vec();
        self.read.drain(..HEAD + length);
        Some(Frame {
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff,
            payload,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_nine_bytes_before_its_payload() {
        let bytes = frame(kind::PING, ACK, 0x0102_0304, b"eight by");
        assert_eq!(&bytes[..HEAD], [0, 0, 8, 6, 1, 1, 2, 3, 4]);
        assert_eq!(&bytes[HEAD..], b"eight by");
    }

    #[test]
    fn lengths_that_exceed_their_prefix_go_on_behind_it() {
        let long = [b'x'; 1337];
        let bytes = block(&[(b"a", &long)]);
        assert_eq!(&bytes[..6], [0, 1, b'a', 0x7f, 0xba, 0x09]);
        assert_eq!(bytes.len(), 6 + long.len());
        assert_eq!(remembered(b"a", b"b"), [0x40, 1, b'a', 1, b'b']);
    }
}
