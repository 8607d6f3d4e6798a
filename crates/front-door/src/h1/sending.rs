//! What the system is asked for beside plain writing: to send a file, and to hold back a little for what follows.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::task::{Context, Poll, ready};

use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::sealed::Draught;

/// Writes `lead`, and holds it back until more is said or a moment has passed.
pub(super) fn poll_lead(
    socket: Option<&TcpStream>,
    lead: &[u8],
    cx: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    let flags = libc::MSG_MORE | libc::MSG_NOSIGNAL;
    // SAFETY: the bytes are valid for the length of the call, and only read.
    poll(socket, cx, |socket| unsafe {
        libc::send(socket, lead.as_ptr().cast(), lead.len(), flags)
    })
}

/// Sends that part of a file, or the beginning of it.
pub(super) fn poll_file(
    socket: Option<&TcpStream>,
    file: &File,
    place: Range<usize>,
    cx: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    let begins = libc::off_t::try_from(place.start).map_err(io::Error::other)?;
    poll(socket, cx, |socket| {
        let mut at = begins;
        // SAFETY: both descriptors are open for the length of the call, and so is the number it notes its place in.
        unsafe { libc::sendfile(socket, file.as_raw_fd(), &raw mut at, place.len()) }
    })
}

/// Sends what was drawn from a well, or the beginning of it.
pub(super) fn poll_draught(
    socket: Option<&TcpStream>,
    draught: Draught,
    cx: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    let sent = ready!(poll(socket, cx, |socket| draught.pour(socket)))?;
    draught.poured(sent);
    Poll::Ready(Ok(sent))
}

/// Calls as soon as the socket takes something, and again when it turns out that it does not.
fn poll(
    socket: Option<&TcpStream>,
    cx: &mut Context<'_>,
    mut call: impl FnMut(RawFd) -> isize,
) -> Poll<io::Result<usize>> {
    let socket = socket.ok_or(io::ErrorKind::Unsupported)?;
    loop {
        ready!(socket.poll_write_ready(cx))?;
        let called = socket.try_io(Interest::WRITABLE, || {
            let told = call(socket.as_raw_fd());
            usize::try_from(told).map_err(|_| io::Error::last_os_error())
        });
        match called {
            Err(error) if is_passing(&error) => {}
            called => return Poll::Ready(called),
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
