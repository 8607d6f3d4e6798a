//! A raw HTTP/1 client: exact bytes out, one whole response back, every way of failing told apart.

use crate::wire::inbox::Inbox;
use crate::wire::{Headers, Malformed, ResponseHead};
use socket2::SockRef;
use std::fmt::Write as _;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout_at;

#[cfg(test)]
mod tests;

/// How long [`get`] and [`post`] wait for the whole exchange.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why there is no whole response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Failure {
    /// Nobody listens.
    #[error("connection refused")]
    ConnectRefused,
    /// No connection for another reason.
    #[error("no connection")]
    ConnectFailed,
    /// An orderly close before the first byte of the response.
    #[error("closed before any byte")]
    ClosedBeforeByte,
    /// A reset before the first byte of the response.
    #[error("reset before any byte")]
    ResetBeforeByte,
    /// A reset inside the response.
    #[error("reset inside the response")]
    ResetMidResponse,
    /// An orderly close inside the response.
    #[error("closed inside the response")]
    Truncated,
    /// The time was over.
    #[error("timed out")]
    Timeout,
    /// Not HTTP.
    #[error("{0}")]
    Malformed(Malformed),
    /// More bytes than this client takes.
    #[error("too large")]
    TooLarge,
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// A whole response.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code of the final response.
    pub status: u16,
    /// Its header lines.
    pub headers: Headers,
    /// Its body, decoded from chunks.
    pub body: Vec<u8>,
    /// The statuses of the interim (1xx) responses before it.
    pub interim: Vec<u16>,
    /// Whether another request may follow on this connection.
    pub keeps_alive: bool,
}

impl Response {
    /// The first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// GETs a path on a connection of its own, within [`DEFAULT_TIMEOUT`].
pub async fn get(addr: SocketAddr, path: &str) -> Result<Response, Failure> {
    let request = request_bytes("GET", addr, path, &[("connection", "close")], b"");
    exchange(addr, &request, DEFAULT_TIMEOUT).await
}

/// POSTs a body on a connection of its own, within [`DEFAULT_TIMEOUT`].
pub async fn post(
    addr: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Response, Failure> {
    let headers = [headers, &[("connection", "close")]].concat();
    exchange(
        addr,
        &request_bytes("POST", addr, path, &headers, body),
        DEFAULT_TIMEOUT,
    )
    .await
}

/// Sends exactly these bytes on a connection of its own and reads one response.
pub async fn exchange(
    addr: SocketAddr,
    request: &[u8],
    timeout: Duration,
) -> Result<Response, Failure> {
    let deadline = Instant::now() + timeout;
    let mut connection = Connection::open_by(addr, deadline).await?;
    connection.exchange_by(request, deadline).await
}

/// A well-formed HTTP/1.1 request as bytes, with `Host` and, for a body, `Content-Length`.
#[must_use]
pub fn request_bytes(
    method: &str,
    host: impl std::fmt::Display,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n");
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").expect("a String takes every write");
    }
    if !body.is_empty() {
        write!(head, "content-length: {}\r\n", body.len()).expect("a String takes every write");
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}

/// One client connection; requests follow each other on it.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    inbox: Inbox,
    written_at: Option<Instant>,
}

impl Connection {
    /// Connects.
    pub async fn open(addr: SocketAddr, timeout: Duration) -> Result<Self, Failure> {
        Self::open_by(addr, Instant::now() + timeout).await
    }

    pub(crate) async fn open_by(addr: SocketAddr, deadline: Instant) -> Result<Self, Failure> {
        let connecting = timeout_at(deadline.into(), TcpStream::connect(addr)).await;
        let stream =
            connecting
                .map_err(|_| Failure::Timeout)?
                .map_err(|error| match error.kind() {
                    io::ErrorKind::ConnectionRefused => Failure::ConnectRefused,
                    _ => Failure::ConnectFailed,
                })?;
        stream
            .set_nodelay(true)
            .map_err(|_| Failure::ConnectFailed)?;
        Ok(Self {
            stream,
            inbox: Inbox::default(),
            written_at: None,
        })
    }

    /// This end's address.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    /// When the last byte of the latest [`exchange`](Self::exchange) was handed to the system.
    #[must_use]
    pub fn written_at(&self) -> Option<Instant> {
        self.written_at
    }

    /// Sends exactly these bytes.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads the next response.
    pub async fn response(&mut self, timeout: Duration) -> Result<Response, Failure> {
        self.exchange(b"", timeout).await
    }

    /// Sends exactly these bytes while reading one response, which may come before they are all sent.
    pub async fn exchange(
        &mut self,
        request: &[u8],
        timeout: Duration,
    ) -> Result<Response, Failure> {
        self.exchange_by(request, Instant::now() + timeout).await
    }

    pub(crate) async fn exchange_by(
        &mut self,
        request: &[u8],
        deadline: Instant,
    ) -> Result<Response, Failure> {
        self.written_at = None;
        let (mut reader, mut writer) = self.stream.split();
        let reading = read_response(&mut self.inbox, &mut reader, request.starts_with(b"HEAD "));
        let writing = async {
            // A peer that stopped reading may still have answered: the reading side decides.
            if writer.write_all(request).await.is_ok() {
                self.written_at = Some(Instant::now());
            }
            std::future::pending().await
        };
        let either = async {
            tokio::select! {
                biased;
                never = writing => never,
                response = reading => response,
            }
        };
        timeout_at(deadline.into(), either)
            .await
            .unwrap_or(Err(Failure::Timeout))
    }

    /// Everything that comes until the peer closes or the time is over, and whether it closed.
    pub async fn read_until_close(&mut self, timeout: Duration) -> (Vec<u8>, bool) {
        let mut bytes = self.inbox.take_all();
        let reading = self.stream.read_to_end(&mut bytes);
        let closed = timeout_at((Instant::now() + timeout).into(), reading)
            .await
            .is_ok();
        (bytes, closed)
    }

    /// Ends the sending side only.
    pub async fn half_close(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }

    /// Ends the connection with a reset instead of a close.
    pub fn reset(self) -> io::Result<()> {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO))
    }

    /// Whether the peer has neither closed nor sent anything out of turn.
    ///
    /// Asks the kernel, not the runtime, whose news of a close may be late.
    pub(crate) fn is_quiet(&self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        let peeked = SockRef::from(&self.stream).peek(&mut byte);
        let nothing = peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        self.inbox.is_empty() && nothing
    }
}

async fn read_response(
    inbox: &mut Inbox,
    reader: &mut (impl tokio::io::AsyncRead + Unpin),
    to_head: bool,
) -> Result<Response, Failure> {
    let mut interim = Vec::new();
    let head = loop {
        let head = ResponseHead::parse(&inbox.head(reader).await?)?;
        if head.status == 101 || head.status >= 200 {
            break head;
        }
        interim.push(head.status);
    };
    let framing = head.framing(to_head)?;
    let body = inbox.body(reader, framing).await?;
    inbox.take_message();
    let keeps_alive = framing != crate::wire::Framing::UntilClose
        && head.version == "HTTP/1.1"
        && !head.headers.lists("connection", "close");
    Ok(Response {
        status: head.status,
        headers: head.headers,
        body,
        interim,
        keeps_alive,
    })
}
