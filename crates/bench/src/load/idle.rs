//! Connections that have asked once and now only stay: what a server keeps for those who say nothing.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use socket2::{Domain, Socket, Type};

use super::connection::set_bind_address_no_port;
use super::request;
use crate::http1::{Kind, Reader};
use crate::peers::Door;
use crate::proxy::certificate::HOST;

const PATIENCE: Duration = Duration::from_secs(10);
const BODY_BYTES: usize = 64;
const PATH: &str = "/bytes/64";
/// One address alone has too few ports.
const PER_ADDRESS: usize = 5_000;

/// How they speak.
pub(crate) struct Manner {
    pub(crate) target: SocketAddr,
    pub(crate) door: Door,
    /// For doors of TLS.
    pub(crate) tls: Arc<ClientConfig>,
}

/// Open connections.
#[derive(Debug, Default)]
pub(crate) struct Idle(Vec<TcpStream>);

impl Idle {
    /// Opens more until there are so many; each asks once and looks at its answer.
    pub(crate) fn grow(&mut self, to: usize, manner: &Manner) -> io::Result<()> {
        while self.0.len() < to {
            let socket = connect(manner.target, self.0.len())?;
            self.0.push(manner.ask(socket)?);
        }
        Ok(())
    }

    /// How many the server has closed meanwhile.
    pub(crate) fn closed(&self) -> usize {
        let is_closed = |stream: &&TcpStream| {
            let quiet = stream.set_nonblocking(true);
            let ended = matches!(stream.peek(&mut [0]), Ok(0));
            quiet.is_err() || ended
        };
        self.0.iter().filter(is_closed).count()
    }
}

/// The so manieth connection, from one of the addresses that together have ports enough.
pub(crate) fn connect(target: SocketAddr, index: usize) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(target), Type::STREAM, None)?;
    set_bind_address_no_port(&socket)?;
    let source = Ipv4Addr::new(127, 5, 0, 1 + (index / PER_ADDRESS) as u8);
    socket.bind(&SocketAddr::from((source, 0)).into())?;
    socket.connect_timeout(&target.into(), PATIENCE)?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

impl Manner {
    fn ask(&self, mut socket: TcpStream) -> io::Result<TcpStream> {
        match self.door {
            Door::Plain => {
                ask_plainly(&mut socket, &self.target.to_string())?;
                Ok(socket)
            }
            Door::Http2 => {
                ask_by_frames(&mut socket)?;
                Ok(socket)
            }
            Door::Tls => {
                let name = ServerName::try_from(HOST).map_err(io::Error::other)?;
                let client = ClientConnection::new(self.tls.clone(), name);
                let client = client.map_err(io::Error::other)?;
                let mut stream = StreamOwned::new(client, socket);
                ask_plainly(&mut stream, HOST)?;
                // Of the client only the socket is kept: it is the server's memory that is asked for.
                Ok(stream.sock)
            }
        }
    }
}

fn ask_plainly(stream: &mut (impl Read + Write), host: &str) -> io::Result<()> {
    let headers = [("X-Tenant", "idle")];
    stream.write_all(&request("GET", host, PATH, &headers, b""))?;
    let (mut reader, mut buffer) = (Reader::new(Kind::Response), [0; 4096]);
    while !reader.is_whole() {
        let length = stream.read(&mut buffer)?;
        if length == 0 || reader.take(&buffer[..length]) != Ok(length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let head = reader.head();
    let length = head.header("content-length");
    match (head.status(), length == Some(&BODY_BYTES.to_string())) {
        (Some(200), true) => Ok(()),
        (status, _) => Err(io::Error::other(format!("answered {status:?}"))),
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200`, as the table every HTTP/2 client has from the start numbers it.
const STATUS_200: u8 = 0x88;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

fn ask_by_frames(socket: &mut TcpStream) -> io::Result<()> {
    // GET and http from the table, path and authority written out.
    let mut block = vec![0x82, 0x86];
    for (index, value) in [(0x04, PATH), (0x01, "localhost")] {
        block.extend([index, value.len() as u8]);
        block.extend(value.as_bytes());
    }
    let settings = frame(SETTINGS, 0, 0, b"");
    let headers = frame(HEADERS, END_STREAM | END_HEADERS, 1, &block);
    socket.write_all(&[PREFACE, &settings, &headers].concat())?;
    let (mut good, mut bytes) = (false, 0);
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        socket.read_exact(&mut payload)?;
        match head[3] {
            SETTINGS if head[4] & ACK == 0 => socket.write_all(&frame(SETTINGS, ACK, 0, b""))?,
            HEADERS => good = payload.contains(&STATUS_200),
            DATA => bytes += length,
            _ => {}
        }
        let is_answer = matches!(head[3], HEADERS | DATA);
        if is_answer && head[4] & END_STREAM != 0 {
            break;
        }
    }
    match good && bytes == BODY_BYTES {
        true => Ok(()),
        false => Err(io::Error::other("answered otherwise than with a 200")),
    }
}

/// As many as this process may have open, a few left for everything else.
pub(crate) fn most() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is valid for one limit, which the call fills.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    if status != 0 {
        return 500;
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the limit lives for the length of the call; refused, the old one holds, which is the same or less.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    (limit.rlim_max as usize).saturating_sub(500)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::tests::start;

    #[test]
    fn connections_stay_open_after_their_answer() {
        let manner = Manner {
            target: start(1, 1),
            door: Door::Plain,
            tls: crate::memory::no_tls(),
        };
        let mut idle = Idle::default();
        idle.grow(7, &manner).unwrap();
        assert_eq!((idle.0.len(), idle.closed()), (7, 0));
    }

    #[test]
    fn a_frame_says_its_length_kind_and_stream() {
        assert_eq!(
            frame(HEADERS, END_STREAM, 1, b"ab"),
            [0, 0, 2, 1, 1, 0, 0, 0, 1, b'a', b'b']
        );
    }
}
