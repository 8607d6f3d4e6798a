//! A TLS session over a stream. At rest it holds its keys and no buffer: the library's own stream would keep one of
//! 4 KiB for each connection, half of what one may cost.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use rustls::CommonState;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, UnbufferedStatus, WriteTraffic,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::duct::Duct;

/// Bytes that one record may bring, with all that belongs to it.
const MOST_OF_A_RECORD: usize = 5 + 16 * 1024 + 2048;
/// Bytes of a message of the handshake, which may come in several records.
const MOST_OF_A_MESSAGE: usize = 64 * 1024;
/// Bytes that are taken to be said before the last ones have left.
const TAKEN: usize = 64 * 1024;
/// Pieces that are smaller together are said in one record.
const RECORD: usize = 16 * 1024;
/// Room for what a record adds to its content.
const ADDED: usize = 64;

/// A session that has begun.
pub struct Session<IO> {
    duct: Duct<IO>,
    tls: UnbufferedServerConnection,
    /// What has come and nobody has read yet.
    plain: BytesMut,
    /// The peer has said that nothing more will come.
    ended: bool,
    /// We have.
    closed: bool,
    /// What came made no sense. It must not be looked at again.
    broken: bool,
}

/// What a session is asked to do once it has looked at all that came.
enum Errand<'a> {
    Nothing,
    Say(&'a [u8]),
    Close,
}

/// Why a session stops.
#[derive(Debug, PartialEq, Eq)]
enum Pause {
    /// Something came that is for us. The errand is not done.
    Heard,
    /// The handshake needs more to go on, or nothing may be said any more. The errand is not done.
    Mute,
    /// The errand is done.
    Done,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Session<IO> {
    pub(super) fn new(duct: Duct<IO>, tls: UnbufferedServerConnection) -> Self {
        Self {
            duct,
            tls,
            plain: BytesMut::new(),
            ended: false,
            closed: false,
            broken: false,
        }
    }

    /// What carries it.
    pub(crate) fn carrier(&self) -> &IO {
        &self.duct.io
    }

    /// The protocol that is spoken in it, if one was agreed on.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        self.tls.alpn_protocol()
    }

    /// What was agreed on so far.
    pub(super) fn agreed(&self) -> &CommonState {
        &self.tls
    }

    /// Does what can be done with what has come; what there is to say then waits to leave, an alert as well.
    pub(super) fn go_on(&mut self) -> io::Result<()> {
        self.turn(&Errand::Nothing, None).map(drop)
    }

    /// Has the peer told this instead of what would have been said, which was nothing so far in the clear.
    pub(super) fn refuse(&mut self, alert: &[u8]) {
        self.broken = true;
        self.duct.outgoing = alert.to_vec();
    }

    /// Ready when there is something to go on with, or nothing left to agree on, which is true then. `went` is what
    /// came of going on.
    pub(super) fn poll_wait(
        &mut self,
        went: &mut io::Result<()>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        let flushed = self.duct.poll_flush(cx);
        std::mem::replace(went, Ok(()))?;
        if !self.tls.is_handshaking() && !matches!(flushed, Poll::Ready(Err(_))) {
            // Who reads on sends the rest: a peer may have more to say before it takes it.
            return Poll::Ready(Ok(true));
        }
        ready!(flushed)?;
        if self.ended || ready!(self.duct.poll_fill(cx, MOST_OF_A_MESSAGE))? == 0 {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        Poll::Ready(Ok(false))
    }

    /// Looks at what came until it is through, or something for us was among it: into `into`, what does not fit aside.
    fn turn(
        &mut self,
        errand: &Errand<'_>,
        mut into: Option<&mut ReadBuf<'_>>,
    ) -> io::Result<Pause> {
        if self.broken {
            return Err(io::ErrorKind::InvalidData.into());
        }
        loop {
            let came = &mut self.duct.incoming;
            let UnbufferedStatus {
                mut discard, state, ..
            } = self.tls.process_tls_records(came);
            let outgoing = &mut self.duct.outgoing;
            let pause = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(invalid)?;
                        discard += record.discard;
                        keep(record.payload, into.as_deref_mut(), &mut self.plain);
                    }
                    Some(Pause::Heard)
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    append(outgoing, 0, |room| data.encode(room).map_err(unencoded))?;
                    None
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    // It leaves before anything that is said later.
                    data.done();
                    None
                }
                Ok(ConnectionState::PeerClosed) => {
                    self.ended = true;
                    None
                }
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    run(errand, &mut traffic, outgoing)?;
                    Some(Pause::Done)
                }
                Ok(ConnectionState::BlockedHandshake | ConnectionState::Closed) => {
                    Some(Pause::Mute)
                }
                Ok(other) => return Err(io::Error::other(format!("nobody asked for {other:?}"))),
                Err(error) => {
                    self.duct.discard(discard);
                    self.broken = true;
                    self.tell_why()?;
                    return Err(invalid(error));
                }
            };
            self.duct.discard(discard);
            if let Some(pause) = pause {
                return Ok(pause);
            }
        }
    }

    /// Makes the alert ready that tells the peer what was wrong.
    fn tell_why(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            let came = &mut self.duct.incoming;
            let UnbufferedStatus { discard, state, .. } = self.tls.process_tls_records(came);
            let Ok(ConnectionState::EncodeTlsData(mut data)) = state else {
                break;
            };
            append(&mut self.duct.outgoing, 0, |room| {
                data.encode(room).map_err(unencoded)
            })?;
            self.duct.discard(discard);
        }
        Ok(())
    }

    /// Has the errand done, whatever has come before; what that was is kept.
    fn send(&mut self, errand: &Errand<'_>) -> io::Result<()> {
        loop {
            match self.turn(errand, None)? {
                Pause::Heard => {}
                Pause::Mute => return Err(io::ErrorKind::BrokenPipe.into()),
                Pause::Done => return Ok(()),
            }
        }
    }

    /// Takes some of it to be sent; how many bytes.
    fn say(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let (mut taken, mut small) = (0, Vec::new());
        for piece in pieces {
            let piece = &piece[..piece.len().min(TAKEN - taken)];
            taken += piece.len();
            if pieces.len() > 1 && small.len() + piece.len() <= RECORD {
                small.extend_from_slice(piece);
                continue;
            }
            if !small.is_empty() {
                self.send(&Errand::Say(&small))?;
                small.clear();
            }
            if !piece.is_empty() {
                self.send(&Errand::Say(piece))?;
            }
        }
        if !small.is_empty() {
            self.send(&Errand::Say(&small))?;
        }
        Ok(taken)
    }

    fn poll_say(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        ready!(self.duct.poll_drain(cx))?;
        let taken = self.say(pieces)?;
        // What does not leave now does when it is flushed, or before anything else is taken.
        if let Poll::Ready(Err(error)) = self.duct.poll_drain(cx) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(taken))
    }

    fn poll_hear(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.plain.is_empty() {
            let length = self.plain.len().min(buf.remaining());
            buf.put_slice(&self.plain[..length]);
            self.plain.advance(length);
            if self.plain.is_empty() {
                self.plain = BytesMut::new();
            }
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        loop {
            let went = self.turn(&Errand::Nothing, Some(buf));
            // Tickets, a new key, or why it cannot go on.
            if self.duct.is_waiting()
                && let Poll::Ready(Err(error)) = self.duct.poll_drain(cx)
            {
                return Poll::Ready(Err(error));
            }
            match went? {
                Pause::Heard if buf.filled().len() > before => return Poll::Ready(Ok(())),
                Pause::Heard => continue,
                Pause::Mute | Pause::Done if self.ended => return Poll::Ready(Ok(())),
                Pause::Mute | Pause::Done => {}
            }
            if ready!(self.duct.poll_fill(cx, MOST_OF_A_RECORD))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }
}

fn run<Data>(
    errand: &Errand<'_>,
    traffic: &mut WriteTraffic<'_, Data>,
    outgoing: &mut Vec<u8>,
) -> io::Result<()> {
    match errand {
        Errand::Nothing => Ok(()),
        Errand::Say(words) => {
            let records = words.len() / RECORD + 1;
            append(outgoing, words.len() + records * ADDED, |room| {
                traffic.encrypt(words, room).map_err(unsaid)
            })
        }
        Errand::Close => append(outgoing, ADDED, |room| {
            traffic.queue_close_notify(room).map_err(unsaid)
        }),
    }
}

/// As much as fits goes to who asked, the rest aside.
fn keep(payload: &[u8], into: Option<&mut ReadBuf<'_>>, aside: &mut BytesMut) {
    let mut rest = payload;
    if let Some(buf) = into
        && aside.is_empty()
    {
        let (fits, more) = rest.split_at(rest.len().min(buf.remaining()));
        buf.put_slice(fits);
        rest = more;
    }
    if !rest.is_empty() {
        aside.extend_from_slice(rest);
    }
}

/// Appends what `write` writes, in as much room as it turns out to need. It says how much where it was too little.
fn append(
    bytes: &mut Vec<u8>,
    mut room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) -> io::Result<()> {
    let held = bytes.len();
    loop {
        bytes.resize(held + room, 0);
        let written = write(&mut bytes[held..]);
        bytes.truncate(held + written.unwrap_or(0));
        match written {
            Ok(_) => return Ok(()),
            Err(Some(needed)) if needed > room => room = needed,
            Err(_) => return Err(io::Error::other("the keys of a TLS session are used up")),
        }
    }
}

fn unencoded(error: EncodeError) -> Option<usize> {
    match error {
        EncodeError::InsufficientSize(size) => Some(size.required_size),
        EncodeError::AlreadyEncoded => None,
    }
}

fn unsaid(error: EncryptError) -> Option<usize> {
    match error {
        EncryptError::InsufficientSize(size) => Some(size.required_size),
        EncryptError::EncryptExhausted => None,
    }
}

pub(super) fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for Session<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_hear(cx, buf)
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Session<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_say(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_say(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.duct.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.closed {
            self.closed = true;
            // Of a session that is broken the peer has been told already.
            let _broken = self.send(&Errand::Close).is_err();
        }
        ready!(self.duct.poll_drain(cx))?;
        Pin::new(&mut self.duct.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
