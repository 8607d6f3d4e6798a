//! Reading and writing a socket without the ceremony of the C library, which makes every such call a point where a
//! thread could be cancelled: two steps that other processors see, for nothing here.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream as Socket;

use super::{TcpStream, socket_of};

/// The system takes no more pieces than this in one call.
const PIECES_MAX: usize = 1024;

/// Reads once.
pub fn poll_read(
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let Some(socket) = socket_of(stream) else {
        return Pin::new(stream).poll_read(cx, buf);
    };
    loop {
        ready!(socket.poll_read_ready(cx))?;
        // SAFETY: bytes that are set stay set: they are written by the system or left alone.
        let room = unsafe { buf.unfilled_mut() };
        let most = room.len();
        let call = || Ok(rustix::net::recv(socket, &mut *room, RecvFlags::empty())?.1);
        match once(socket, Interest::READABLE, most, call) {
            Err(error) if is_passing(&error) => {}
            Err(error) => return Poll::Ready(Err(error)),
            Ok(read) => {
                // SAFETY: so many were written by the system.
                unsafe { buf.assume_init(read) };
                buf.advance(read);
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// Writes once.
pub fn poll_write(
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    match socket_of(stream) {
        None => Pin::new(stream).poll_write(cx, bytes),
        Some(socket) => poll_send(socket, cx, bytes.len(), || {
            Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)?)
        }),
    }
}

/// Writes several pieces at once.
pub fn poll_write_vectored(
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
    pieces: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    let Some(socket) = socket_of(stream) else {
        return Pin::new(stream).poll_write_vectored(cx, pieces);
    };
    // What is not asked for is not missing: a socket that took all it was given has room for more.
    let pieces = &pieces[..pieces.len().min(PIECES_MAX)];
    let most = pieces.iter().map(|piece| piece.len()).sum();
    poll_send(socket, cx, most, || Ok(rustix::io::writev(socket, pieces)?))
}

fn poll_send(
    socket: &Socket,
    cx: &mut Context<'_>,
    most: usize,
    mut call: impl FnMut() -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_write_ready(cx))?;
        match once(socket, Interest::WRITABLE, most, &mut call) {
            Err(error) if is_passing(&error) => {}
            told => return Poll::Ready(told),
        }
    }
}

/// One call. Who got less than all has emptied the socket, or filled it: the next waits until the runtime hears more of
/// it, and need not ask in vain. To say so is for the same breath as the call: said later, it would take back what was
/// heard in between.
fn once(
    socket: &Socket,
    interest: Interest,
    most: usize,
    call: impl FnOnce() -> io::Result<usize>,
) -> io::Result<usize> {
    let mut part = None;
    let told = socket.try_io(interest, || match call()? {
        some if 0 < some && some < most => {
            part = Some(some);
            Err(io::ErrorKind::WouldBlock.into())
        }
        all => Ok(all),
    });
    part.map_or(told, Ok)
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests;
