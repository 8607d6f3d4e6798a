//! A client's connection that never blocks.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use crate::http1::{Kind, Reader};

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) reader: Reader,
    outbox: Vec<u8>,
}

/// What came of listening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The answer is not whole yet.
    Waiting,
    /// The answer is whole; the reader has its head.
    Answer,
    /// The connection is of no further use.
    Gone,
}

impl Connection {
    /// Begins to connect. Clients of different addresses can be told apart by the server, and
    /// share no ports.
    pub(super) fn open(target: SocketAddr, source: Option<Ipv4Addr>) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(target), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = source {
            set_bind_address_no_port(&socket)?;
            socket.bind(&SocketAddr::from((source, 0)).into())?;
        }
        match socket.connect(&target.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        Ok(Self {
            stream: socket.into(),
            reader: Reader::new(Kind::Response),
            outbox: Vec::new(),
        })
    }

    /// False when the connection is of no further use.
    pub(super) fn send(&mut self, request: &[u8]) -> bool {
        self.reader.next();
        let written = match self.stream.write(request) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => return false,
        };
        self.outbox.clear();
        self.outbox.extend_from_slice(&request[written..]);
        true
    }

    /// Goes on with what could not be sent at once.
    pub(super) fn flush(&mut self) -> bool {
        while !self.outbox.is_empty() {
            match self.stream.write(&self.outbox) {
                Ok(written) => drop(self.outbox.drain(..written)),
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// Reads until the answer is whole or nothing more is there.
    pub(super) fn hear(&mut self, buffer: &mut [u8], ended: bool) -> Heard {
        loop {
            match self.stream.read(buffer) {
                Ok(0) if self.reader.ends_with_connection() => return Heard::Answer,
                Ok(0) => return Heard::Gone,
                Ok(length) => {
                    if self.reader.take(&buffer[..length]) != Ok(length) {
                        return Heard::Gone;
                    }
                    if self.reader.is_whole() {
                        return Heard::Answer;
                    }
                    if length < buffer.len() && !ended {
                        return Heard::Waiting;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Heard::Waiting,
                Err(_) => return Heard::Gone,
            }
        }
    }
}

/// Lets the system choose the port when the target is known: many more connections then fit.
pub(super) fn set_bind_address_no_port(socket: &Socket) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let on: libc::c_int = 1;
    // SAFETY: the option takes one int, which lives for the length of the call.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
