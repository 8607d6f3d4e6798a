//! Writes a reply onto the wire, with its fault.

use super::reply::{Fault, Reply};
use socket2::SockRef;
use std::fmt::Write as _;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// What becomes of the connection after an answer.
pub(super) enum After {
    Reuse,
    Close,
    /// The peer left before the answer was over.
    Abandoned,
}

/// What goes out after the head: nothing at all for a HEAD, whatever the head says.
#[derive(Clone, Copy)]
struct Body<'a> {
    bytes: &'a [u8],
    chunked: bool,
}

impl<'a> Body<'a> {
    fn of(reply: &'a Reply, to_head: bool) -> Self {
        if to_head || matches!(reply.status, 204 | 304) {
            return Self {
                bytes: b"",
                chunked: false,
            };
        }
        Self {
            bytes: &reply.body,
            chunked: reply.chunked,
        }
    }
}

pub(super) async fn answer(
    stream: &mut TcpStream,
    reply: &Reply,
    to_head: bool,
) -> io::Result<After> {
    let body = Body::of(reply, to_head);
    let length = reply.body.len();
    match reply.fault {
        None => whole(stream, head(reply, length), body).await,
        Some(Fault::Silence) => until_peer_leaves(stream).await,
        Some(Fault::Reset) => reset(stream).await,
        Some(Fault::StallAt(at)) => {
            begin(stream, reply, body, at).await?;
            until_peer_leaves(stream).await
        }
        Some(Fault::ResetAt(at)) => {
            begin(stream, reply, body, at).await?;
            reset(stream).await
        }
        Some(Fault::HalfCloseAt(at)) => {
            begin(stream, reply, body, at).await?;
            stream.shutdown().await?;
            until_peer_leaves(stream).await.map(|_| After::Close)
        }
        Some(Fault::Garbage) => {
            stream
                .write_all(b"\x16\x03\x01\x02\x00 what is this \xff\xfe\0\n\n")
                .await?;
            Ok(After::Close)
        }
        Some(Fault::LengthShort(by)) => {
            mislabelled(stream, reply, body, length.saturating_sub(by)).await
        }
        Some(Fault::LengthLong(by)) => {
            mislabelled(stream, reply, body, length + by).await?;
            Ok(After::Close)
        }
        Some(Fault::Slow { bytes_per_s }) => slow(stream, reply, body, bytes_per_s).await,
        Some(Fault::HugeHeaders { bytes }) => {
            whole(stream, head(&reply.with_huge_headers(bytes), length), body).await
        }
        Some(Fault::EndlessBody) => endless(stream, reply).await,
        Some(Fault::InterimFlood { count }) => {
            for _ in 0..count {
                stream
                    .write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n")
                    .await?;
            }
            whole(stream, head(reply, length), body).await
        }
    }
}

impl Reply {
    fn with_huge_headers(&self, bytes: usize) -> Self {
        const LINE_BYTES: usize = 1024;
        let mut reply = self.clone();
        for index in 0..bytes.div_ceil(LINE_BYTES) {
            let name = format!("x-huge-{index}");
            let left = bytes - index * LINE_BYTES;
            let value = "h".repeat(left.min(LINE_BYTES).saturating_sub(name.len() + 4).max(1));
            reply.headers.push((name, value));
        }
        reply
    }
}

fn head(reply: &Reply, declared: usize) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} {}\r\n", reply.status, reason(reply.status));
    for (name, value) in &reply.headers {
        write!(head, "{name}: {value}\r\n").expect("a String takes every write");
    }
    match (reply.status, reply.chunked) {
        (204 | 304, _) => {}
        (_, true) => head.push_str("transfer-encoding: chunked\r\n"),
        (_, false) => {
            write!(head, "content-length: {declared}\r\n").expect("a String takes every write");
        }
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        304 => "Not Modified",
        400 => "Bad Request",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Other",
    }
}

/// Head and body in one write: one segment for a small answer, as origins do.
async fn whole(stream: &mut TcpStream, head: Vec<u8>, body: Body<'_>) -> io::Result<After> {
    let mut bytes = head;
    if body.chunked {
        if !body.bytes.is_empty() {
            bytes.extend(chunk(body.bytes));
        }
        bytes.extend(LAST_CHUNK);
    } else {
        bytes.extend(body.bytes);
    }
    stream.write_all(&bytes).await?;
    Ok(After::Reuse)
}

fn chunk(data: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat()
}

/// All of the body under a length that is not its own.
async fn mislabelled(
    stream: &mut TcpStream,
    reply: &Reply,
    body: Body<'_>,
    length: usize,
) -> io::Result<After> {
    let head = head(
        &Reply {
            chunked: false,
            ..reply.clone()
        },
        length,
    );
    whole(
        stream,
        head,
        Body {
            chunked: false,
            ..body
        },
    )
    .await
}

/// The head, and the body up to byte `at`; a chunked body is one chunk of the declared size, cut.
async fn begin(stream: &mut TcpStream, reply: &Reply, body: Body<'_>, at: usize) -> io::Result<()> {
    let mut bytes = head(reply, reply.body.len());
    if body.chunked {
        bytes.extend(format!("{:x}\r\n", body.bytes.len()).as_bytes());
    }
    bytes.extend(&body.bytes[..at.min(body.bytes.len())]);
    stream.write_all(&bytes).await
}

async fn slow(
    stream: &mut TcpStream,
    reply: &Reply,
    body: Body<'_>,
    bytes_per_s: u32,
) -> io::Result<After> {
    const PORTIONS_PER_S: usize = 50;
    let rate = bytes_per_s.max(1) as usize;
    let portion = (rate / PORTIONS_PER_S).max(1);
    let pause = Duration::from_secs_f64(portion as f64 / rate as f64);
    stream.write_all(&head(reply, reply.body.len())).await?;
    for piece in body.bytes.chunks(portion) {
        tokio::time::sleep(pause).await;
        let bytes = if body.chunked {
            chunk(piece)
        } else {
            piece.to_vec()
        };
        stream.write_all(&bytes).await?;
    }
    if body.chunked {
        stream.write_all(LAST_CHUNK).await?;
    }
    Ok(After::Reuse)
}

async fn endless(stream: &mut TcpStream, reply: &Reply) -> io::Result<After> {
    stream
        .write_all(&head(
            &Reply {
                chunked: true,
                ..reply.clone()
            },
            0,
        ))
        .await?;
    let piece = chunk(&super::filler(16 << 10));
    loop {
        stream.write_all(&piece).await?;
    }
}

async fn until_peer_leaves(stream: &mut TcpStream) -> io::Result<After> {
    let mut ignored = [0; 1024];
    while stream.read(&mut ignored).await? > 0 {}
    Ok(After::Abandoned)
}

/// Closing with a zero linger time sends RST; what the kernel had not sent yet would be lost, so
/// that is waited for.
async fn reset(stream: &mut TcpStream) -> io::Result<After> {
    for _ in 0..1000 {
        if unsent_bytes(stream)? == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    SockRef::from(&*stream).set_linger(Some(Duration::ZERO))?;
    Ok(After::Close)
}

fn unsent_bytes(stream: &TcpStream) -> io::Result<libc::c_int> {
    const SIOCOUTQNSD: libc::Ioctl = 0x894b;
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open while `stream` lives, and this request writes one int.
    let code = unsafe { libc::ioctl(stream.as_raw_fd(), SIOCOUTQNSD, &mut bytes) };
    if code == 0 {
        Ok(bytes)
    } else {
        Err(io::Error::last_os_error())
    }
}
